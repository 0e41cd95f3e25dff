import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Engine, runTrial } from '@glovebox/engine';
import { environment } from './environment.ts';
import type { BenchOrigin } from './origin.ts';

/** Input of the node `fetcher`; see there. */
export interface Fetches {
  url: string;
  warmup: number;
  requests: number;
  parallel: number;
  notBeforeMs: number;
}

export interface Fetched {
  takenMs: number[];
  bytes: number;
  startedAtMs: number;
  endedAtMs: number;
}

/** Makes the requests, and tells how long each took where it was made. */
export type Fetcher = (fetches: Fetches) => Promise<Fetched>;

/** In a fresh cell each time, as a whole run: recorded, with a receipt. */
export function inCell(engine: Engine, files: ReadonlyMap<string, Uint8Array>): Fetcher {
  return async (fetches) => {
    const { state, error, output } = await runTrial(engine, {
      project: 'default',
      actor: 'local:uid=0',
      files,
      inputText: JSON.stringify(fetches),
      configText: '{}',
    });
    if (state !== 'SUCCEEDED') throw new Error(`${state}: ${error?.code} ${error?.message}`);
    return output as unknown as Fetched;
  };
}

/** The same bundle in a bare process of Node.js, which speaks to the origin itself. */
export function directly(bundlePath: string, origin: BenchOrigin): Fetcher {
  const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  return async (fetches) => {
    const child = spawn(process.execPath, ['--import', here('./names-on-loopback.mjs'), here('./bare.mjs')], {
      env: { ...environment, NODE_EXTRA_CA_CERTS: origin.caFile },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
      });
    child.stdin.end(JSON.stringify({ bundle: bundlePath, input: fetches, config: {} }));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`exit ${code}: ${texts.stderr.slice(0, 200)}`);
    return JSON.parse(texts.stdout) as Fetched;
  };
}
