import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { whileAlone } from './claim.mjs';
import { exitOfChild, removeTemporaries, temporary, until } from './small-clone.ts';

afterAll(removeTemporaries);

const module = join(import.meta.dirname, 'claim.mjs');
const free = { onWait: () => {}, limitMs: 0 };

/** A process that enters, notes that it is in, stays for a while, notes that it is out, and leaves. */
function contender(dir: string, stayMs: number) {
  const code = `
    const { whileAlone } = await import(${JSON.stringify(module)});
    const { appendFileSync } = await import('node:fs');
    await whileAlone(${JSON.stringify(join(dir, 'claims'))}, async () => {
      appendFileSync(${JSON.stringify(join(dir, 'log'))}, 'in ' + process.pid + '\\n');
      await new Promise((done) => setTimeout(done, ${stayMs}));
      appendFileSync(${JSON.stringify(join(dir, 'log'))}, 'out ' + process.pid + '\\n');
    }, { onWait() {}, limitMs: 60_000 });`;
  return spawn(process.execPath, ['--input-type=module', '-e', code], {
    env: {},
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

it('never lets two processes in at once, and lets every one in', async () => {
  const dir = temporary();
  const codes = await Promise.all(Array.from({ length: 6 }, () => exitOfChild(contender(dir, 30))));
  expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
  const lines = readFileSync(join(dir, 'log'), 'utf8').trim().split('\n');
  expect(lines).toHaveLength(12);
  for (let i = 0; i < lines.length; i += 2)
    expect([lines[i], lines[i + 1]]).toEqual([`in ${lines[i]?.slice(3)}`, `out ${lines[i]?.slice(3)}`]);
  expect(readdirSync(join(dir, 'claims'))).toEqual([]);
});

it('does not wait for a holder that was killed', async () => {
  const dir = temporary();
  const holder = contender(dir, 600_000);
  const ended = exitOfChild(holder);
  await until(() => existsSync(join(dir, 'log')));
  await expect(whileAlone(join(dir, 'claims'), async () => 'in', free)).rejects.toMatchObject({ code: 'SETUP_BUSY' });
  holder.kill('SIGKILL');
  await ended;
  expect(await whileAlone(join(dir, 'claims'), async () => 'in', free)).toBe('in');
  expect(readdirSync(join(dir, 'claims'))).toEqual([]);
});

it('does not take a process that has got the pid of a dead holder for that holder', async () => {
  const claims = join(temporary(), 'claims');
  mkdirSync(claims);
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  // pid 1 is there, but did not start so early; the other claim is from before a reboot.
  writeFileSync(join(claims, `${boot}.1.999999999999`), '');
  writeFileSync(join(claims, `00000000-0000-0000-0000-000000000000.${process.ppid}.1`), '');
  expect(await whileAlone(claims, async () => 'in', free)).toBe('in');
});

it('leaves when the action fails, and passes its error on', async () => {
  const claims = join(temporary(), 'claims');
  const failing = whileAlone(claims, async () => Promise.reject(new Error('no')), free);
  await expect(failing).rejects.toThrow('no');
  expect(await whileAlone(claims, async () => 'in', free)).toBe('in');
});
