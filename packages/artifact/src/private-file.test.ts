import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
      `import(${JSON.stringify(module)}).then(({ removeLeftovers }) => {
        process.stdout.write('ready');
        setInterval(() => removeLeftovers(${JSON.stringify(path)}), 1);
      });`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(sweeper, 'exit');
  try {
    await once(sweeper.stdout, 'data');
    for (let i = 0; i < 200; i++) writeAnew(path, `text ${i}`, 'KEY_UNUSABLE');
    expect(readFileSync(path, 'utf8')).toBe('text 199');
  } finally {
    sweeper.kill('SIGKILL');
    await exited;
  }
  expect(readdirSync(dir)).toEqual(['key.pem']);
});
