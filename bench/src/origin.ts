import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { selfSigned } from '../../tools/demo/certificate.ts';
import { environment } from './environment.ts';
import type { Closing } from './variant.ts';

/** What is asked, by cells and directly alike. */
export interface BenchOrigin {
  readonly host: string;
  readonly port: number;
  /** A file in PEM: whoever asks it trusts that. */
  readonly caFile: string;
  /** @param answer `small` (1 kB), `bytes/<n>`, or `events/<n>` of 100 bytes each, 20 in a millisecond at most. */
  url(answer: string): string;
}

export const originHost = 'origin.bench.test';

/** An origin over TLS and HTTP/1.1 on loopback, in a process of its own. */
export async function openOrigin(dir: string, closing: Closing): Promise<BenchOrigin> {
  const identity = selfSigned([originHost], Date.now());
  const caFile = join(dir, 'origin.pem');
  writeFileSync(caFile, identity.cert);
  const server = spawn(process.execPath, [fileURLToPath(new URL('./origin-server.mjs', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: environment,
  });
  const exited = once(server, 'exit');
  closing(() => {
    server.stdin.end();
    return exited;
  });
  server.stdin.write(`${JSON.stringify(identity)}\n`);
  const [line] = (await Promise.race([once(server.stdout, 'data'), exited])) as [unknown];
  const port = Number(String(line));
  if (!Number.isInteger(port) || port === 0) throw new Error('the origin did not come up');
  return { host: originHost, port, caFile, url: (answer) => `https://${originHost}:${port}/answers/${answer}` };
}
