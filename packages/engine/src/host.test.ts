import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isDead, ownIdentity } from './host.ts';
import type { OwnerRef } from './records.ts';

const own = ownIdentity('ins_x');
const ownerOf = (pid: number): OwnerRef => ({ ...own, pid, startTicks: statOf(pid)[19] ?? '' });
const statOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');

describe('an owner', () => {
  it('is alive while its process runs', () => {
    expect(isDead(own)).toBe(false);
  });

  it('is not taken for dead where its number counts for nothing: in another container with the same data directory', () => {
    const judge = (prefix: readonly string[], owner: OwnerRef): string => {
      const program = `import { isDead } from './host.ts'; process.stdout.write(String(isDead(JSON.parse(process.argv[1]))));`;
      const [command = '', ...args] = [
        ...prefix,
        ...[process.execPath, '--input-type=module', '-e', program, JSON.stringify(owner)],
      ];
      return execFileSync(command, args, { cwd: import.meta.dirname, encoding: 'utf8' });
    };
    const elsewhere = ['unshare', '--pid', '--fork', '--mount-proc'];
    expect(judge(elsewhere, own)).toBe('false');
    expect(judge(elsewhere, { ...own, pid: 4_194_303 })).toBe('false');
    expect(judge([], own)).toBe('false');
    expect(judge([], { ...own, pid: 4_194_303 })).toBe('true');
  });

  it('is dead once its process is gone', async () => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    const owner = ownerOf(child.pid as number);
    expect(isDead(owner)).toBe(false);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    expect(isDead(owner)).toBe(true);
  });

  it('is dead when its process has ended and nobody has looked', async () => {
    // The shell becomes a program that never waits for the child it has.
    const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const pid = Number(await new Promise((resolve) => parent.stdout.once('data', resolve)));
      const owner = ownerOf(pid);
      expect(isDead(owner)).toBe(false);
      while (statOf(pid)[0] !== 'Z') await sleep(20);
      expect(statOf(pid)[19]).toBe(owner.startTicks);
      expect(isDead(owner)).toBe(true);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  it('is not taken for dead where its record does not say in which pid namespace, or of which boot', () => {
    const [bootId = ''] = own.pidSpace.split('/');
    for (const pidSpace of [bootId, '', '/', 'nobody can tell', own.pidSpace.slice(1)])
      expect(isDead({ ...own, pid: 4_194_303, pidSpace }), pidSpace).toBe(false);
  });

  it('is dead when its number has been given again, and after another boot', () => {
    expect(isDead({ ...own, startTicks: '1' })).toBe(true);
    expect(isDead({ ...own, pidSpace: '00000000-0000-4000-8000-000000000000/1' })).toBe(true);
  });
});
