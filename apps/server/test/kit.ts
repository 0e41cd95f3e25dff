import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openInstance } from '@glovebox/artifact';
import { createBlobStore } from '@glovebox/blobs-fs';
import type { LogRecord } from '@glovebox/contract';
import { roles } from '@glovebox/contract/routes';
import type { Attempt, Engine, RunRecord } from '@glovebox/engine';
import { openStore } from '@glovebox/store-sqlite';
import { makeEnd, makeRun } from '../../../adapters/store-sqlite/test/support/records.ts';
import { type App, type AppOptions, createApp } from '../src/app.ts';

export interface TestApp {
  app: App;
  engine: Engine;
  /** A run that has ended, with these logs. */
  record(logs?: LogRecord[], over?: Partial<RunRecord>): Promise<{ run: RunRecord; attempt: Attempt }>;
  /** Call it as HTTP does. A body that is no text is sent as JSON. */
  send(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Response>;
  close(): Promise<void>;
}

export const principal: AppOptions['principal'] = { name: 'local:uid=0', roles };

/** An app over real records in a directory of its own. It has no cells: what would boot one fails. */
export async function openTestApp(options: Partial<AppOptions> = {}): Promise<TestApp> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-server-'));
  const dataDir = join(dir, 'data');
  const { signer, publicKeyPem } = await openInstance(dataDir);
  const store = await openStore(join(dataDir, 'glovebox.db'), { inThread: true });
  const engine = {
    store: store.runs,
    drafts: store.drafts,
    releases: store.releases,
    audit: store.audit,
    egressLog: store.egressLog,
    egressPolicies: store.egressPolicies,
    blobs: createBlobStore(join(dataDir, 'blobs')),
    signer,
    keys: [publicKeyPem],
    now: Date.now,
    monotonicMs: () => performance.now(),
  } as unknown as Engine;
  const app = createApp({ open: async () => engine, principal, ...options });
  return {
    app,
    engine,
    async record(logs = [], over = {}) {
      const made = makeRun({ createdAtMs: Date.now(), ...over });
      await engine.store.create(made.run, made.attempt);
      await engine.store.begin(made.attempt.id, made.run.createdAtMs + 1);
      if (logs.length > 0) await engine.store.appendLogs(made.attempt.id, logs);
      const file = await engine.blobs.put([Buffer.from('content')] as unknown as AsyncIterable<Uint8Array>, 100);
      await engine.store.finish(
        made.attempt.id,
        makeEnd({ files: [{ name: 'table.html', mediaType: 'text/html', ...file }] }),
      );
      return made;
    },
    send(method, path, { body, headers = {} } = {}) {
      const json =
        body === undefined || typeof body === 'string' || body instanceof ReadableStream ? body : JSON.stringify(body);
      return app.fetch(
        new Request(`http://glovebox.invalid${path}`, {
          method,
          headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
          ...(json === undefined ? {} : { body: json as string, duplex: 'half' }),
        }),
      );
    },
    async close() {
      await app.settled();
      await store.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
