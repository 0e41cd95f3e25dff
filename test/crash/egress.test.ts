import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@glovebox/store-sqlite';
import { afterEach, expect, it } from 'vitest';
import { closeOrigins, openHttp1 } from '../../packages/egress/test/origins.ts';

const program = join(import.meta.dirname, 'egress-program.ts');
const dir = mkdtempSync(join(tmpdir(), 'glovebox-egress-kill-'));
afterEach(async () => {
  await closeOrigins();
  rmSync(dir, { recursive: true });
});

it('a host that is killed as soon as a request has come to its origin has that request on record', async () => {
  for (const killAt of [1, 2, 9, 30, 100]) {
    let kill = (): void => undefined;
    const origin = await openHttp1((_request, response) => {
      if (origin.seen.length >= killAt) kill();
      else response.end('hello');
    });
    const database = join(dir, `${killAt}.db`);
    const host = spawn(process.execPath, [program, database, String(origin.port)], { stdio: 'inherit' });
    kill = () => void host.kill('SIGKILL');
    await once(host, 'exit');
    const store = await openStore(database);
    const records = await store.egressLog.list({ project: 'default', limit: 1000 });
    await store.close();
    expect(origin.seen.length).toBeGreaterThanOrEqual(killAt);
    const onRecord = new Set(records.map(({ path }) => path));
    expect(origin.seen.map(({ url }) => url).filter((url) => !onRecord.has(url))).toEqual([]);
    expect(records.filter(({ outcome }) => outcome === 'open').length).toBeGreaterThan(0);
  }
});
