import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EgressRecord } from '@glovebox/contract';
import { afterAll, expect, it } from 'vitest';

const program = join(import.meta.dirname, '../../test/children/egress-host.ts');
const dir = mkdtempSync(join(tmpdir(), 'glovebox-egress-kill-'));
afterAll(() => rmSync(dir, { recursive: true }));

it.each([1, 9, 100])(
  'a host that is killed as soon as request %i has come to its origin has all of them on record',
  async (killAt) => {
    const seen: string[] = [];
    let kill = (): void => undefined;
    const origin = createServer((request, response) => {
      seen.push(request.url ?? '');
      if (seen.length >= killAt) kill();
      else response.end('hello');
    });
    await once(origin.listen(0, '127.0.0.1'), 'listening');
    const file = join(dir, `${killAt}.jsonl`);
    const { port } = origin.address() as AddressInfo;
    const host = spawn(process.execPath, [program, file, String(port)], { stdio: 'inherit' });
    kill = () => void host.kill('SIGKILL');
    await once(host, 'exit');
    origin.close();
    origin.closeAllConnections();
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    const onRecord = new Set(lines.map((line) => (JSON.parse(line) as EgressRecord).path));
    expect(seen.length).toBeGreaterThanOrEqual(killAt);
    expect(seen.filter((url) => !onRecord.has(url))).toEqual([]);
  },
);
