import { spawn } from 'node:child_process';
import { environment } from './environment.ts';

/** From spawn to the last byte on stdout. */
export function timed(command: string, args: string[], stdin: string | Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    let endedAt = 0;
    let out = '';
    let err = '';
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: environment });
    child.on('error', reject);
    child.stdin.on('error', () => undefined);
    child.stdout.on('data', (chunk) => {
      out += chunk;
      endedAt = performance.now();
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.on('close', (code) =>
      code === 0 && out !== '' ? resolve(endedAt - started) : reject(new Error(`exit ${code}: ${err.slice(0, 200)}`)),
    );
    child.stdin.end(stdin);
  });
}
