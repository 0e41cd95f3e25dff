import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { newCellId, newInstanceId } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/cell-bench.ts';
import { formatOwnedName, judgeOwner, parseOwnedName, readOwnMark } from './ownership.ts';

const mark = readOwnMark(newInstanceId());
const otherwise = (owner: Partial<typeof mark.owner>, pidNamespace = mark.pidNamespace) => ({
  owner: { ...mark.owner, ...owner },
  pidNamespace,
});

describe('an owned name', () => {
  it('reads back as what it was made of, and fits into a file name', () => {
    const cell = newCellId();
    const name = formatOwnedName(cell, mark);
    expect(parseOwnedName(name)).toEqual({ cell, ...mark });
    expect(name.length).toBeLessThan(255);
    expect(name).toMatch(/^[\w.-]+$/);
  });

  it('is refused in every other spelling', () => {
    const name = formatOwnedName(newCellId(), mark);
    for (const text of [
      '',
      '.',
      `${name}.`,
      `.${name}`,
      `x${name}`,
      name.replace('cell_', 'cell-'),
      name.toUpperCase(),
      `${name}/..`,
      name.replace(/\.\d+$/, ''),
      name.replace(/\d+\.(\d+)\.(\d+)$/, '0.$1.$2'),
      `${name}\n`,
    ]) {
      expect(parseOwnedName(text), text).toBeUndefined();
    }
  });
});

describe('an owner', () => {
  it('lives when boot, pid, start time and pid namespace are those of a process', () => {
    expect(judgeOwner(mark)).toBe('alive');
  });

  it('is dead when its pid has another start time, has no process, or is of another boot', () => {
    expect(judgeOwner(otherwise({ startTicks: '1' }))).toBe('dead');
    expect(judgeOwner(otherwise({ pid: 4_194_303 }))).toBe('dead');
    expect(judgeOwner(otherwise({ bootId: '00000000-0000-4000-8000-000000000000' }))).toBe('dead');
  });

  it('is unknown when its pid counts in another pid namespace, whatever that pid is here', () => {
    expect(judgeOwner(otherwise({}, '1'))).toBe('unknown');
    expect(judgeOwner(otherwise({ pid: 4_194_303 }, '1'))).toBe('unknown');
  });

  it('is unknown to whoever reads start times in another time namespace, and lives for who does not', () => {
    const judge = (prefix: readonly string[]): string => {
      const program = `import { judgeOwner } from './ownership.ts'; process.stdout.write(judgeOwner(JSON.parse(process.argv[1])));`;
      const [command = '', ...args] = [
        ...prefix,
        ...[process.execPath, '--input-type=module', '-e', program, JSON.stringify(mark)],
      ];
      return execFileSync(command, args, {
        cwd: import.meta.dirname,
        env: { PATH: '/usr/bin:/bin' },
        encoding: 'utf8',
      });
    };
    expect(judge(['unshare', '--time', '--boottime', '1000', '--fork'])).toBe('unknown');
    expect(judge([])).toBe('alive');
  });

  it('lives while a thread of it does, though its first one has ended and is a zombie', async () => {
    const program = `
      const ffi = process.getBuiltinModule('node:ffi');
      const libc = /\\S*libc\\.so\\.6/.exec(require('node:fs').readFileSync('/proc/self/maps', 'utf8'))[0];
      const { syscall } = ffi.dlopen(libc, { syscall: { arguments: ['i64', 'i64'], return: 'i64' } }).functions;
      require('node:fs').writeSync(1, 'exits');
      syscall(60n, 0n);
    `;
    const child = spawn(process.execPath, ['--experimental-ffi', '-e', program], {
      env: {},
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const stat = (): string[] => {
      const text = readFileSync(`/proc/${child.pid}/stat`, 'latin1');
      return text.slice(text.lastIndexOf(')') + 2).split(' ');
    };
    try {
      const owner = otherwise({ pid: child.pid ?? 0, startTicks: stat()[19] ?? '' });
      await once(child.stdout, 'data');
      expect(await eventually(() => stat()[0] === 'Z')).toBe(true);
      expect(judgeOwner(owner)).toBe('alive');
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      expect(judgeOwner(owner)).toBe('dead');
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('lives while it is stopped', () => {
    const child = spawn('/bin/sleep', ['60'], { stdio: 'ignore' });
    try {
      child.kill('SIGSTOP');
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1');
      const startTicks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
      expect(judgeOwner(otherwise({ pid: child.pid ?? 0, startTicks }))).toBe('alive');
    } finally {
      child.kill('SIGKILL');
    }
  });
});
