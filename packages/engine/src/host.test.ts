import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isDead, ownIdentity, processStartTicks } from './host.ts';
import type { OwnerRef } from './records.ts';

const own = ownIdentity('ins_x');
const ownerOf = (pid: number): OwnerRef => ({ ...own, pid, startTicks: processStartTicks(pid) ?? '' });
const stateOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .charAt(0);

describe('an owner', () => {
  it('is alive while its process runs', () => {
    expect(isDead(own)).toBe(false);
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
      while (stateOf(pid) !== 'Z') await sleep(20);
      expect(processStartTicks(pid)).toBe(owner.startTicks);
      expect(isDead(owner)).toBe(true);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  it('is dead when its number has been given again, and after another boot', () => {
    expect(isDead({ ...own, startTicks: '1' })).toBe(true);
    expect(isDead({ ...own, bootId: '00000000-0000-4000-8000-000000000000' })).toBe(true);
  });
});
