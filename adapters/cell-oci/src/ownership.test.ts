import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { newCellId, newInstanceId } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
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
