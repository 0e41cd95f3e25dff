import type { Engine } from '@glovebox/engine';

/** Parts of an engine by which a use case changes something, or signs that it may. */
const parts = ['store', 'drafts', 'releases', 'artifacts', 'audit', 'signer'] as const;

/**
 * The same engine, in a process that kills itself with SIGKILL just before its nth call of a store or of the signer: what a
 * power cut between two steps of a use case leaves. Calls are counted from 1; a use case that makes fewer ends as it would
 * have.
 */
export function killAtNthCall<Some extends Partial<Engine>>(engine: Some, n: number): Some {
  let calls = 0;
  const counted = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (++calls === n) process.kill(process.pid, 'SIGKILL');
          return Reflect.apply(value, target, args);
        };
      },
    });
  const replaced = parts.flatMap((name) => {
    const part = engine[name];
    return part === undefined ? [] : [[name, counted(part)] as const];
  });
  return { ...engine, ...Object.fromEntries(replaced) };
}
