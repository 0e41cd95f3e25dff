import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stagedName } from '@glovebox/engine/staging';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTurns } from './turn.ts';

let claims: string;
beforeEach(() => {
  claims = mkdtempSync(join(tmpdir(), 'glovebox-turn-'));
});
afterEach(() => rmSync(claims, { recursive: true, force: true }));

it.each([
  ['that one opened, in their order', 1],
  ['of which each opened its own', 60],
])('lets one of sixty in after the other, %s, and leaves nothing', async (_who, openers) => {
  let inside = 0;
  let most = 0;
  const order: number[] = [];
  const turns = Array.from({ length: openers }, () => openTurns(claims, 30_000));
  await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      turns[i % openers]?.(async () => {
        most = Math.max(most, ++inside);
        await sleep(2);
        inside--;
        order.push(i);
      }),
    ),
  );
  const all = Array.from({ length: 60 }, (_, i) => i);
  expect(openers === 1 ? order : order.toSorted((a, b) => a - b)).toEqual(all);
  expect(most).toBe(1);
  expect(readdirSync(claims)).toEqual([]);
});

it('passes on what goes wrong inside, and lets the next in', async () => {
  const inTurn = openTurns(claims);
  const [failed, next] = [inTurn(() => Promise.reject(new Error('no'))), inTurn(async () => 'next')];
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('next');
  expect(await openTurns(claims)(async () => 'other')).toBe('other');
});

it('waits for a process that lives, not for one that is dead', async () => {
  const program = `
    import { openTurns } from ${JSON.stringify(join(import.meta.dirname, 'turn.ts'))};
    await openTurns(process.argv[1])(() => { console.log('in'); return new Promise(() => setInterval(() => {}, 1000)); });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, claims], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(child.stdout, 'data');
    const tried = openTurns(claims, 200)(async () => 'in');
    // It lives, so nothing is to be removed.
    await expect(tried).rejects.toMatchObject({ code: 'STORE_BUSY', hint: 'Try again.', details: {} });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await openTurns(claims, 200)(async () => 'in')).toBe('in');
  } finally {
    child.kill('SIGKILL');
  }
});

it('waits for a claim that cannot be judged, and names it to whoever can', async () => {
  const claim = join(claims, stagedName().replace(/\.(\d+)\.(\d+)\.(\d+)\./, '.1.$2.$3.'));
  writeFileSync(claim, '');
  const tried = openTurns(claims, 100)(async () => 'in');
  await expect(tried).rejects.toMatchObject({
    code: 'STORE_BUSY',
    hint: expect.stringContaining(claim),
    details: { claim },
  });
  expect(readdirSync(claims)).toHaveLength(1);
  rmSync(claim);
  expect(await openTurns(claims, 100)(async () => 'in')).toBe('in');
});
