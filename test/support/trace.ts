import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allowedNames, cellPaths, seccompOf } from '@glovebox/cell';
import type { OciSpec } from '@glovebox/cell-oci';
import type { CellRole } from '@glovebox/contract';

/** Calls of a traced process, by name. */
export interface Calls {
  /** Those that the kernel took up at least once, whatever came of them. */
  made: Set<string>;
  /** Those that the filter answered at least once: with an errno of its own, and not allowed whatever their arguments. */
  refused: Set<string>;
}

export interface CellTrace {
  role: CellRole;
  /** What the runtime does under the filter before the cell's program takes its place. */
  runtime: Calls;
  guest: Calls;
  lines: number;
}

/**
 * Attach strace to the runtime's own process in the container, which is to become the cell. It runs on the host, in none of
 * the cell's cgroups and namespaces, and is killed with the launcher. Standard error is what strace writes line by line.
 */
const attach = `
pid=$(sed 's/.*"pid" *: *\\([0-9]*\\).*/\\1/')
(
  for file in /sys/fs/cgroup/*/cgroup.procs; do echo 0 2>/dev/null >"$file"; done
  exec strace -f -qq -a 1 -s 0 -p "$pid" 2>"$1" </dev/null >/dev/null
) &
tries=0
while grep -q '^TracerPid:.0$' "/proc/$pid/status"; do
  tries=$((tries + 1))
  [ "$tries" -lt 500 ] || exit 1
  sleep 0.01
done
`;

const roleScripts: Record<CellRole, string> = {
  run: cellPaths.harness,
  tests: cellPaths.tester,
  bundle: cellPaths.builder,
  types: cellPaths.typeChecker,
  probe: cellPaths.probe,
};

/** Traces of all cells that are booted with `weakenForTest`, each in a file of `dir`. */
export class CellTraces {
  readonly #dir: string;
  #cells = 0;

  constructor(dir: string) {
    mkdirSync(dir, { recursive: true });
    this.#dir = dir;
  }

  readonly weakenForTest = (spec: OciSpec): OciSpec => {
    const role = roleOf(spec.process.args);
    const hook = {
      path: '/bin/sh',
      args: ['sh', '-c', attach, 'sh', join(this.#dir, `${role}.${this.#cells++}`)],
      env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'],
    };
    return { ...spec, hooks: { prestart: [hook] } } as OciSpec;
  };

  /** Of the cells that are dead; a trace may still grow while its cell lives. */
  read(): CellTrace[] {
    return readdirSync(this.#dir).map((name) => {
      const role = name.split('.')[0] as CellRole;
      const free = new Set(allowedNames('x64', seccompOf(role)));
      return { role, ...readTrace(readFileSync(join(this.#dir, name), 'latin1'), free) };
    });
  }
}

function roleOf(args: readonly string[]): CellRole {
  const found = Object.entries(roleScripts).find(([, script]) => args.includes(script));
  if (found === undefined) throw new TypeError(`no cell has the command ${args.join(' ')}`);
  return found[0] as CellRole;
}

/** A call that is begun and ended on one line, or begun on one and ended on another. */
const whole = /^(?:\[pid +\d+\] )?(\w+)\(.*\) = (-?\d+|0x[0-9a-f]+|\?)(?: (E[A-Z]+))?/;
const resumed = /^(?:\[pid +\d+\] )?<\.\.\. (\w+) resumed>.* = (-?\d+|0x[0-9a-f]+|\?)(?: (E[A-Z]+))?/;
const begun = /^(?:\[pid +\d+\] )?(\w+)\(.*<unfinished \.\.\.>$/;
const filterErrnos = new Set(['EPERM', 'ENOSYS']);

/**
 * What strace wrote, from the moment the filter is in force.
 *
 * @param free names that the filter allows whatever their arguments: an EPERM of theirs is the kernel's own.
 */
export function readTrace(text: string, free: ReadonlySet<string>): Omit<CellTrace, 'role'> {
  const phases = { runtime: noCalls(), guest: noCalls() };
  let phase: keyof typeof phases | undefined;
  const lines = text.split('\n');
  for (const line of lines) {
    const [, name, , errno] = whole.exec(line) ?? resumed.exec(line) ?? [];
    if (phase === undefined) {
      if (errno === undefined && /\b(seccomp\(SECCOMP_SET_MODE_FILTER|prctl\(PR_SET_SECCOMP)/.test(line))
        phase = 'runtime';
      continue;
    }
    if (name === undefined) {
      // What never ends, such as the wait in which a cell is killed, was made all the same.
      const [, started] = begun.exec(line) ?? [];
      if (started !== undefined && free.has(started)) phases[phase].made.add(started);
      continue;
    }
    const { made, refused } = phases[phase];
    if (errno !== undefined && filterErrnos.has(errno) && !free.has(name)) refused.add(name);
    else made.add(name);
    if (name === 'execve' && errno === undefined) phase = 'guest';
  }
  return { ...phases, lines: lines.length };
}

const noCalls = (): Calls => ({ made: new Set(), refused: new Set() });
