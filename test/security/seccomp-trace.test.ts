import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allowedNames, seccompOf } from '@glovebox/cell';
import { afterAll, describe, expect, it } from 'vitest';
import { CellTraces, readTrace } from '../support/trace.ts';
import { load, loadNames } from '../support/trace-load.ts';
import { expectedRefusals } from '../support/trace-names.ts';
import { needs } from '../support/trace-needs.ts';
import { useEngine } from '../support/use-engine.ts';

const dir = mkdtempSync(join(tmpdir(), 'glovebox-trace-'));
const traces = new CellTraces(dir);
const traced = useEngine({ weakenForTest: traces.weakenForTest });
afterAll(() => rmSync(dir, { recursive: true }));

it('a node under load makes no call that is not on the list, and none is refused but those that are known', async () => {
  const { output, state } = await traced().run(load);
  expect({ state, output }).toEqual({ state: 'SUCCEEDED', output: { done: loadNames, failed: {} } });
  const cells = traces.read();
  expect(cells.map(({ role }) => role).sort()).toEqual(['bundle', 'run']);
  for (const { role, runtime, guest } of cells) {
    const list = seccompOf(role);
    const names = [...allowedNames('x64', list), ...list.conditional.flatMap((group) => group.names)];
    const made = [...runtime.made, ...guest.made];
    expect(made.filter((name) => !names.includes(name))).toEqual([]);
    expect([...runtime.refused, ...guest.refused].filter((name) => !Object.hasOwn(expectedRefusals, name))).toEqual([]);
    // It was seen at work: from the moment of the filter, through the runtime's last step, to the end.
    expect([...runtime.made]).toContain('execve');
    expect(guest.made.size).toBeGreaterThan(role === 'run' ? 70 : 45);
  }
}, 120_000);

it('a cell that was stopped in a wait goes on waiting', async () => {
  expect(await needs.restart_syscall?.((spec) => spec)).toBe(true);
});

describe('what strace wrote is read', () => {
  const free = new Set(allowedNames('x64'));
  const filter = '[pid     5] seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=99, filter=0x55}) = 0';

  it('from the filter on, apart for the runtime and the program that it becomes', () => {
    const { runtime, guest } = readTrace(
      ['mount("a", "b") = 0', filter, 'close(3) = 0', 'execve("/usr/bin/node", []) = 0', 'brk(NULL) = 0x5555'].join(
        '\n',
      ),
      free,
    );
    expect([[...runtime.made], [...guest.made]]).toEqual([['close', 'execve'], ['brk']]);
  });

  it('with calls that were refused, that were interrupted by others, and that never ended', () => {
    const { guest } = readTrace(
      [
        filter,
        'execve("/usr/bin/node", []) = 0',
        '[pid     7] fchown(3, 0, 0) = -1 EPERM (Operation not permitted)',
        'openat(AT_FDCWD, "/none") = -1 ENOENT (No such file or directory)',
        '[pid     8] read(4,  <unfinished ...>',
        '[pid     7] clone3({flags=0}, 88) = -1 ENOSYS (Function not implemented)',
        '[pid     8] <... read resumed>""..., 64) = 8',
        '[pid     8] futex(0x1, FUTEX_WAIT <unfinished ...>',
      ].join('\n'),
      free,
    );
    expect([[...guest.made], [...guest.refused]]).toEqual([
      ['openat', 'read', 'futex'],
      ['fchown', 'clone3'],
    ]);
  });

  it('as nothing where no filter came into force', () => {
    const { runtime, guest } = readTrace('execve("/usr/bin/node", []) = 0\nread(3, "") = 0', free);
    expect(runtime.made.size + guest.made.size).toBe(0);
  });
});
