import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeAnew } from './private-file.ts';

const module = fileURLToPath(new URL('private-file.ts', import.meta.url));

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'glovebox-private-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('writes a file anew although another process takes what it writes for a leftover', async () => {
  const path = join(dir, 'key.pem');
  const sweeper = spawn(
    process.execPath,
    [
      '-e',
      // It tells how often it took something, and stops before it could do so at every try of one write.
      `const { readdirSync } = require('node:fs');
      import(${JSON.stringify(module)}).then(({ removeLeftovers }) => {
        process.stdout.write('ready');
        let taken = 0;
        setInterval(() => {
          if (taken === 15 || !readdirSync(${JSON.stringify(dir)}).some((name) => name.startsWith('.'))) return;
          removeLeftovers(${JSON.stringify(path)});
          taken++;
          process.stdout.write('x');
        }, 1);
      });`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(sweeper, 'exit');
  try {
    let told = '';
    sweeper.stdout.on('data', (text) => {
      told += text;
    });
    await once(sweeper.stdout, 'data');
    for (let i = 0; i < 5000 && !told.includes('x'); i += 100) {
      for (let j = i; j < i + 100; j++) writeAnew(path, `text ${j}`, 'KEY_UNUSABLE');
      expect(readFileSync(path, 'utf8')).toBe(`text ${i + 99}`);
      // What the other process says is heard in between.
      await sleep(1);
    }
    expect(told).toContain('x');
  } finally {
    sweeper.kill('SIGKILL');
    await exited;
  }
  expect(readdirSync(dir)).toEqual(['key.pem']);
});
