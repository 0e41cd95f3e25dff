import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { judgeProcess, markOwnProcess } from './process-mark.ts';

const mark = markOwnProcess();

describe('a marked process', () => {
  it('lives when boot, pid, start time and pid namespace are those of a process', () => {
    expect(judgeProcess(mark)).toBe('alive');
  });

  it('is dead when its pid has another start time, has no process, or is of another boot', () => {
    expect(judgeProcess({ ...mark, startTicks: '1' })).toBe('dead');
    expect(judgeProcess({ ...mark, pid: 4_194_303 })).toBe('dead');
    expect(judgeProcess({ ...mark, bootId: '00000000-0000-4000-8000-000000000000' })).toBe('dead');
  });

  it('is unknown when its pid counts in another pid namespace, whatever that pid is here', () => {
    expect(judgeProcess({ ...mark, pidNamespace: '1' })).toBe('unknown');
    expect(judgeProcess({ ...mark, pid: 4_194_303, pidNamespace: '1' })).toBe('unknown');
  });

  it('is unknown when its boot is none that a kernel could have', () => {
    for (const bootId of ['', 'nobody can tell', mark.bootId.slice(1), `${mark.bootId}\n`])
      expect(judgeProcess({ ...mark, pid: 4_194_303, bootId })).toBe('unknown');
  });

  it('is unknown to whoever reads start times in another time namespace, and lives for who does not', () => {
    const judge = (prefix: readonly string[]): string => {
      const program = `import { judgeProcess } from './process-mark.ts'; process.stdout.write(judgeProcess(JSON.parse(process.argv[1])));`;
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
      const owner = { ...mark, pid: child.pid ?? 0, startTicks: stat()[19] ?? '' };
      await once(child.stdout, 'data');
      while (stat()[0] !== 'Z') await sleep(20);
      expect(judgeProcess(owner)).toBe('alive');
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      expect(judgeProcess(owner)).toBe('dead');
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
      expect(judgeProcess({ ...mark, pid: child.pid ?? 0, startTicks })).toBe('alive');
    } finally {
      child.kill('SIGKILL');
    }
  });
});
