import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  lines: string[];
  stderr: string;
}

/** A process of its own that puts artifacts of these versions. */
export async function runWriter(dir: string, versions: readonly string[], flags: string[] = []): Promise<Ended> {
  const program = fileURLToPath(new URL('./writer.ts', import.meta.url));
  const child = spawn(process.execPath, [...flags, program, dir, ...versions], {
    // What one has compiled, the others need not.
    env: { NODE_COMPILE_CACHE: join(dirname(dir), 'cache') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve({ code, signal, lines: out.split('\n').filter((line) => line !== ''), stderr });
    });
  });
}
