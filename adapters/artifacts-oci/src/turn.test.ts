import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stagedName } from '@glovebox/engine/staging';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { inTurn } from './turn.ts';

let claims: string;
beforeEach(() => {
  claims = mkdtempSync(join(tmpdir(), 'glovebox-turn-'));
});
afterEach(() => rmSync(claims, { recursive: true, force: true }));

it('lets one after the other in, also within one process, and leaves nothing', async () => {
  let inside = 0;
  let most = 0;
  const turns = Array.from({ length: 12 }, (_, i) =>
    inTurn(claims, async () => {
      most = Math.max(most, ++inside);
      await sleep(1);
      inside--;
      return i;
    }),
  );
  expect(await Promise.all(turns)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(most).toBe(1);
  expect(readdirSync(claims)).toEqual([]);
});

it('passes on what goes wrong inside, and lets the next in', async () => {
  await expect(inTurn(claims, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await inTurn(claims, async () => 'next')).toBe('next');
});

it('waits for a process that lives, not for one that is dead', async () => {
  const program = `
    import { inTurn } from ${JSON.stringify(join(import.meta.dirname, 'turn.ts'))};
    await inTurn(process.argv[1], () => { console.log('in'); return new Promise(() => setInterval(() => {}, 1000)); });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, claims], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(child.stdout, 'data');
    const tried = inTurn(claims, async () => 'in', 200);
    await expect(tried).rejects.toMatchObject({ code: 'STORE_BUSY' });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await inTurn(claims, async () => 'in', 200)).toBe('in');
  } finally {
    child.kill('SIGKILL');
  }
});

it('waits for a claim that cannot be judged', async () => {
  writeFileSync(join(claims, stagedName().replace(/\.(\d+)\.(\d+)\.(\d+)\./, '.1.$2.$3.')), '');
  await expect(inTurn(claims, async () => 'in', 100)).rejects.toMatchObject({ code: 'STORE_BUSY' });
  expect(readdirSync(claims)).toHaveLength(1);
});
