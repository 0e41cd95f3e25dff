import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OciSpec } from '@glovebox/cell-oci';
import { type BenchCell, openCellBench } from './cell-bench.ts';

/** The filter without a name, wherever it stands: the call is refused, whatever its arguments. */
export const withoutCall =
  (name: string) =>
  (spec: OciSpec): OciSpec => {
    const { seccomp, ...linux } = spec.linux;
    if (seccomp === undefined) throw new TypeError('the specification has no filter');
    const syscalls = seccomp.syscalls
      .map((rule) => ({ ...rule, names: rule.names.filter((other) => other !== name) }))
      .filter(({ names }) => names.length > 0);
    return { ...spec, linux: { ...linux, seccomp: { ...seccomp, syscalls } } };
  };

/** What needs a name that no trace shows. Each gives whether it went well. */
export const needs: Readonly<Record<string, (weaken: (spec: OciSpec) => OciSpec) => Promise<boolean>>> = {
  restart_syscall: stopInWait,
};

/** Stop the process of a cell in a wait with a time limit, and let it go on. */
async function stopInWait(weakenForTest: (spec: OciSpec) => OciSpec): Promise<boolean> {
  const bench = openCellBench({ weakenForTest });
  try {
    const cell = await bench.boot();
    cell.run(
      `say('waits'); const began = Date.now(); const how = Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000); say([how, Date.now() - began >= 1000])`,
    );
    if ((await cell.heard()) !== 'waits') return false;
    const pid = hostPidOf(cell);
    await sleep(200);
    process.kill(pid, 'SIGSTOP');
    await sleep(200);
    process.kill(pid, 'SIGCONT');
    return JSON.stringify(await cell.heard()) === '["timed-out",true]';
  } finally {
    await bench.settle();
    bench.remove();
  }
}

/** The host's pid of the first process of a cell: in its cgroup, and the first of its own pid namespace. */
export function hostPidOf(cell: Pick<BenchCell, 'id'>): number {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(cell.id)) continue;
      const ids = /^NSpid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]?.split('\t') ?? [];
      if (ids.length === 3 && ids[2] === '1') return Number(pid);
    } catch {
      // It ended meanwhile.
    }
  }
  throw new Error(`no process of ${cell.id} is there`);
}
