import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EgressRecord } from '@glovebox/contract';
import { createDialer, createEgress, fixedResolver, systemResolver } from '@glovebox/egress';
import { type Engine, runTrial, type TrialEvents, type TrialResult } from '@glovebox/engine';
import { afterAll, afterEach, expect } from 'vitest';
import { makeCa } from '../../packages/egress/test/ca.ts';
import { closeOrigins, type Handler, type Origin, openHttp1 } from '../../packages/egress/test/origins.ts';
import type { TestEngine } from './engine.ts';
import { type NodeSource, writeNode } from './node-package.ts';
import { useEngine } from './use-engine.ts';

export interface HttpRun {
  input?: unknown;
  events?: TrialEvents;
  signal?: AbortSignal;
  /** Parts of the engine in the place of its own. */
  over?: Partial<Engine>;
}

/** Real cells whose nodes reach origins of this process as `origin.test`, over TLS by a CA that only the dialer is told of. */
export interface HttpCells {
  cells(): TestEngine;
  readonly identity: ReturnType<ReturnType<typeof makeCa>['issue']>;
  /** Closed after the test. */
  openOrigin(handler: Handler): Promise<Origin>;
  /** The admin's side: `origin.test` may lead to these ports of loopback, and to nothing else. */
  allow(...ports: number[]): Promise<void>;
  run(source: NodeSource, options?: HttpRun): Promise<TrialResult>;
  /** In the order of the requests. */
  recordsOf(result: TrialResult): Promise<EgressRecord[]>;
}

/** For the tests of a file. `private.test` leads to loopback too, and no allowance has it. */
export function useHttpCells(): HttpCells {
  const cells = useEngine();
  const ca = makeCa();
  const identity = ca.issue(['DNS:origin.test']);
  const dialer = createDialer({
    resolver: fixedResolver({ 'origin.test': ['127.0.0.1'], 'private.test': ['127.0.0.1'] }, systemResolver()),
    extraCa: [ca.cert],
    proxy: undefined,
  });
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-http-cells-'));
  afterEach(closeOrigins);
  afterAll(() => {
    dialer.destroy();
    rmSync(dir, { recursive: true });
  });
  let packages = 0;
  return {
    cells,
    identity,
    openOrigin: (handler) => openHttp1(handler, identity),
    async allow(...ports) {
      const { egressPolicies } = cells().engine;
      const { policy, revision } = await egressPolicies.get('default');
      const allowances = [{ id: 'origin', host: 'origin.test', cidrs: ['127.0.0.0/8'], ports, reason: 'a test' }];
      const changed = { ...policy, allowances };
      expect(await egressPolicies.set('default', changed, revision, 'local:uid=0', Date.now())).toBe('set');
    },
    async run(source, { input = {}, events, signal, over = {} } = {}) {
      const packageDir = await writeNode(join(dir, `${packages++}`), source);
      const trial = {
        project: 'default',
        actor: 'local:uid=0',
        packageDir,
        inputText: typeof input === 'string' ? input : JSON.stringify(input),
        configText: '{}',
      };
      return runTrial({ ...cells().engine, egress: createEgress(dialer), ...over }, trial, events, signal);
    },
    async recordsOf({ run: id }) {
      const records = await cells().engine.egressLog.list({ project: 'default', run: id, limit: 100 });
      return records.map(({ cursor: _, ...record }) => record).sort((a, b) => a.seq - b.seq);
    },
  };
}
