import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { planRunCell } from '@glovebox/cell';
import { serveChannel } from '@glovebox/channel';
import { type Digest, type Job, newAttemptId, newCellId, newRunId, type RunLimits } from '@glovebox/contract';
import { type BlobStore, buildNode, type Engine, runAttempt } from '@glovebox/engine';
import { readNodePackage } from '@glovebox/validate';
import { defaultCells, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { type DockerPeer, dockerRun } from './docker.ts';
import { type Report, type Row, report } from './report.ts';
import { Samples } from './samples.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const root = here('../..');
const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: '/nonexistent', LANG: 'C.UTF-8' };

const input = { values: Array.from({ length: 50 }, (_, i) => (i * 7919) % 101) };

/**
 * A small node (no dependency) in a fresh cell, beside bare Node.js and `docker run` of the same bundle; the channel; and
 * the start of the CLI. All are interleaved: one round takes one sample of each.
 */
export async function measure(quick: boolean, say: (line: string) => void): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-bench-'));
  const { engine, close } = await openLocalEngine({
    dataDir: dir,
    ...defaultCells,
    registry: undefined,
    minimumPackageAgeMs: undefined,
    extraCa: undefined,
  });
  let docker: DockerPeer | undefined;
  try {
    say('making the images …');
    await engine.images.build({});
    const small = await smallNode(engine);
    writeFileSync(join(dir, 'bundle.mjs'), small.bundle);
    docker = await dockerRun(engine, dir, { bundle: small.bundle, input, say });
    const samples = {
      bare: new Samples('lowest'),
      oci: new Samples('lowest'),
      docker: new Samples('lowest'),
      version: new Samples('lowest'),
      list: new Samples('lowest'),
    };
    const rounds = quick ? 12 : 40;
    for (let round = 0; round < rounds; round++) {
      if (round % 10 === 0) say(`round ${round + 1} of ${rounds}`);
      await samples.bare.take(() => bareNode(join(dir, 'bundle.mjs')));
      await samples.oci.take(() => coldCell(engine, small));
      if (docker.ready && round % 4 === 0) await samples.docker.take(docker.run);
      if (round % 2 === 0) {
        await samples.version.take(() => cli(['--version'], dir));
        await samples.list.take(() => cli(['run', 'list', '--data-dir', dir], dir));
      }
    }
    say('measuring the channel …');
    const rtt = await roundTrips(engine, quick ? 300 : 1000);
    const throughput = await uploads(engine, quick ? 3 : 9);
    return report('run', quick, rows({ ...samples, rtt, throughput }, docker));
  } finally {
    docker?.remove();
    await close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function rows(
  s: Record<'bare' | 'oci' | 'docker' | 'version' | 'list' | 'rtt' | 'throughput', Samples>,
  docker: DockerPeer,
): Row[] {
  const bare = s.bare.percentile(0.5);
  const oci = s.oci.percentile(0.5);
  const against = (value: number | null): Partial<Row> =>
    value === null || bare === null ? {} : { ratio: Math.round((value / bare) * 1000) / 1000, vs: 'nodejs.cold_ms' };
  const dockerMs = docker.ready ? s.docker.percentile(0.5) : null;
  const boundary = 'spawn or boot to the whole output at the caller; same bundle and input; p50';
  return [
    { id: 'nodejs.cold_ms', value: bare, unit: 'ms', n: s.bare.n, boundary, ...s.bare.note },
    {
      id: 'oci.cold_ms',
      value: oci,
      unit: 'ms',
      n: s.oci.n,
      boundary: `${boundary}; without build, store and receipt`,
      ...against(oci),
      ...s.oci.note,
    },
    {
      id: 'oci.cold_ratio',
      value: bare === null || oci === null ? null : Math.round((oci / bare) * 1000) / 1000,
      unit: '×',
      n: s.oci.n,
      boundary: 'oci.cold_ms over nodejs.cold_ms, same rounds; goal ≤ 1.5',
    },
    {
      id: 'dockerrun.cold_ms',
      value: dockerMs,
      unit: 'ms',
      n: s.docker.n,
      boundary,
      ...against(dockerMs),
      ...(docker.ready ? s.docker.note : { note: docker.why ?? 'no engine' }),
    },
    {
      id: 'channel.rtt_ms',
      value: s.rtt.percentile(0.5),
      unit: 'ms',
      n: s.rtt.n,
      boundary: 'ping to pong between host and an idle cell; p50',
      ...s.rtt.note,
    },
    {
      id: 'channel.mb_s',
      value: s.throughput.percentile(0.5),
      unit: 'MB/s',
      n: s.throughput.n,
      boundary: '64 MB that a node writes as a file, from its first to its last byte at the host; nothing stored; p50',
      ...(s.throughput.failures ? s.throughput.note : {}),
    },
    {
      id: 'cli.start_ms',
      value: s.version.percentile(0.5),
      unit: 'ms',
      n: s.version.n,
      boundary: 'spawn of glovebox --version to its exit, by the Node.js of the caller; p50',
      ...s.version.note,
    },
    {
      id: 'cli.list_ms',
      value: s.list.percentile(0.5),
      unit: 'ms',
      n: s.list.n,
      boundary: 'spawn of glovebox run list to its exit; p50',
      ...s.list.note,
    },
  ];
}

interface BuiltForBench {
  bundle: Uint8Array;
  digest: string;
  limits: RunLimits;
}

async function smallNode(engine: Engine): Promise<BuiltForBench> {
  return build(engine, here('../nodes/small'));
}

async function build(engine: Engine, dir: string): Promise<BuiltForBench> {
  const read = await readNodePackage(dir);
  if (!read.ok) throw new Error(JSON.stringify(read.findings));
  const { runLimits } = await import('@glovebox/contract');
  const built = await buildNode(engine, read.pkg);
  return { bundle: built.bundle, digest: built.bundleDigest, limits: runLimits(read.pkg.manifest) };
}

function jobOf(node: BuiltForBench, value: Job['input']): Job {
  const { timeoutMs, outputBytes, logBytes, filesBytes, filesCount, scratchBytes } = node.limits;
  return {
    ids: { project: 'default', run: newRunId(), attempt: newAttemptId(), node: 'bench', correlation: 'bench' },
    nowMs: 0,
    timeoutMs,
    bundle: { digest: node.digest, sizeBytes: node.bundle.byteLength },
    limits: { outputBytes, logBytes, filesBytes, filesCount, scratchBytes },
    idempotencyKey: 'bench',
    input: value,
    config: {},
  };
}

async function coldCell(engine: Engine, node: BuiltForBench): Promise<number> {
  const image = await engine.images.current('runtime');
  const started = performance.now();
  let resultAt = 0;
  const attempt = await runAttempt(
    {
      plan: planRunCell(image.digest as Digest, node.limits),
      job: jobOf(node, input),
      bundle: node.bundle,
      cpu: node.limits.cpu,
      timeoutMs: node.limits.timeoutMs,
    },
    engine,
    {
      onPhase: (phase) => {
        if (phase === 'teardown') resultAt = performance.now();
      },
    },
  );
  if (attempt.state !== 'SUCCEEDED') throw new Error(`${attempt.state}: ${attempt.error?.message}`);
  return resultAt - started;
}

function bareNode(bundle: string): Promise<number> {
  return timed(process.execPath, [here('./bare.mjs')], JSON.stringify({ bundle, input, config: {} }));
}

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

function cli(args: string[], dir: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn('node', [join(root, 'apps/cli/bin/glovebox.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...environment, HOME: dir },
    });
    child.stdout.resume();
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(performance.now() - started) : reject(new Error(`exit ${code}: ${err.slice(0, 200)}`)),
    );
  });
}

/** A cell that waits for its job answers pings. */
async function roundTrips(engine: Engine, count: number): Promise<Samples> {
  const image = await engine.images.current('runtime');
  const samples = new Samples('lowest');
  const limits: RunLimits = {
    cpu: 1,
    memoryBytes: 256 * 2 ** 20,
    pids: 64,
    timeoutMs: 30_000,
    outputBytes: 1024,
    logBytes: 1024,
    scratchBytes: 2 ** 20,
    filesBytes: 0,
    filesCount: 0,
  };
  const cell = await engine.driver.boot(planRunCell(image.digest as Digest, limits), newCellId());
  cell.stdout.resume();
  cell.stderr.resume();
  const asked = Promise.withResolvers<void>();
  const channel = serveChannel(cell.channel, (stream) => {
    if (stream.head.url.endsWith('/job')) asked.resolve();
  });
  await asked.promise;
  for (let i = 0; i < count; i++) await samples.take(() => channel.ping());
  channel.close();
  cell.kill('done');
  await cell.ended;
  return samples;
}

const uploadBytes = 64_000_000;

async function uploads(engine: Engine, count: number): Promise<Samples> {
  const node = await build(engine, here('../nodes/upload'));
  const samples = new Samples('highest');
  const image = await engine.images.current('runtime');
  for (let i = 0; i < count; i++) {
    let first = 0;
    let last = 0;
    const blobs: BlobStore = {
      async put(source) {
        let sizeBytes = 0;
        for await (const chunk of source) {
          if (first === 0) first = performance.now();
          sizeBytes += chunk.byteLength;
        }
        last = performance.now();
        return { digest: `sha256:${randomBytes(32).toString('hex')}`, sizeBytes };
      },
      async *read() {},
    };
    await samples.take(async () => {
      const attempt = await runAttempt(
        {
          plan: planRunCell(image.digest as Digest, node.limits),
          job: jobOf(node, { bytes: uploadBytes }),
          bundle: node.bundle,
          cpu: node.limits.cpu,
          timeoutMs: node.limits.timeoutMs,
        },
        { ...engine, blobs },
      );
      if (attempt.state !== 'SUCCEEDED') throw new Error(`${attempt.state}: ${attempt.error?.message}`);
      return uploadBytes / 1e6 / ((last - first) / 1000);
    });
  }
  return samples;
}
