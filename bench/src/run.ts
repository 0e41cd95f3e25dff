import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { planRunCell } from '@glovebox/cell';
import { serveChannel } from '@glovebox/channel';
import { type CellClass, newCellId } from '@glovebox/contract';
import type { AttemptPorts, BlobStore, Engine } from '@glovebox/engine';
import { defaultConfig } from '../../apps/cli/src/config.ts';
import { openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { attempt, type BuiltNode, build, requireSuccess } from './built-node.ts';
import { coldCell } from './cold-cell.ts';
import { bareRow, coldRows, over } from './cold-rows.ts';
import { dockerRun } from './docker.ts';
import { type DriverPlaces, openCelld, openContainerEngine, openDocker, openOci } from './drivers.ts';
import { environment } from './environment.ts';
import { addedMs } from './first-byte.ts';
import { jobMs, jobMsBesideHog } from './neighbour.ts';
import { type Report, type Row, report } from './report.ts';
import { Samples } from './samples.ts';
import { timed } from './timed.ts';
import { type Closing, tryOpen, type Variant } from './variant.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const root = here('../..');

const input = { values: Array.from({ length: 50 }, (_, i) => (i * 7919) % 101) };

/**
 * A small node (no dependency) in a fresh cell of each driver and runtime, beside bare Node.js and `docker run` of the
 * same bundle; what celld adds; what a cell suffers from its neighbour; the channel; and the start of the CLI. All are
 * interleaved: one round takes one sample of each.
 */
export async function measure(quick: boolean, say: (line: string) => void): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-bench-'));
  const closings: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })];
  const closing: Closing = (close) => closings.push(close);
  try {
    const { engine, close } = await openLocalEngine({ ...defaultConfig(dir), registry: undefined, extraCa: undefined });
    closing(close);
    say('making the images …');
    await engine.images.build({});
    const node = await build(engine, here('../nodes/small'));
    const neighbour = await build(engine, here('../nodes/neighbour'));
    writeFileSync(join(dir, 'bundle.mjs'), node.bundle);
    const peers = await openPeers(engine, node, dir, closing, say);
    const rows = [
      ...(await coldStarts({ engine, node, neighbour, dir, quick, say }, peers)),
      ...(await channelRows(engine, node, quick, say)),
    ];
    return report('run', quick, rows);
  } finally {
    for (const close of closings.reverse()) await close();
  }
}

/** What no runsc, or none that distributions have, can do. */
const gvisorRisks = ['runtime-below-floor', 'scratch-inodes-unlimited'] as const;

interface Peers {
  /** Each takes one sample. */
  runc: Variant<() => Promise<number>>;
  docker: Variant<() => Promise<number>>;
  gvisor: Variant<() => Promise<number>>;
  dockerRun: Variant<() => Promise<number>>;
  /** @param round which of the two is first alternates with it. */
  celld: Variant<(round: number) => Promise<number>>;
  engineOrigin: string | undefined;
}

async function openPeers(
  engine: Engine,
  node: BuiltNode,
  dir: string,
  closing: Closing,
  say: (line: string) => void,
): Promise<Peers> {
  say('starting a container engine and celld …');
  const places: DriverPlaces = { dir, imagesDirectory: join(dir, 'images') };
  const container = await openContainerEngine(closing);
  const peer = await dockerRun(engine, dir, {
    bundle: node.bundle,
    input,
    say,
    ...(container.ready ? { socketPath: container.value.socketPath } : {}),
  });
  closing(peer.remove);
  /** Warmed up by one cell, which also tells whether there are any. */
  const cells = (open: () => AttemptPorts['driver'], cellClass: CellClass = 'ns'): Promise<Peers['runc']> =>
    tryOpen(async () => {
      const ports = { ...engine, driver: open() };
      const sample = (): Promise<number> => coldCell(ports, node, input, { cellClass });
      await sample();
      return sample;
    });
  return {
    runc: await cells(() => openOci(places, { runtime: 'runc' })),
    gvisor: await cells(() => openOci(places, { acceptedRisks: gvisorRisks }), 'gvisor'),
    docker: container.ready ? await cells(() => openDocker(places, container.value)) : container,
    dockerRun: peer.ready ? { ready: true, value: peer.run } : peer,
    celld: await tryOpen(async () => {
      const celld = await openCelld(places, closing);
      const sample = (round: number): Promise<number> => addedMs(celld, engine.driver, node, round);
      await sample(0);
      return sample;
    }),
    engineOrigin: container.ready ? container.value.origin : undefined,
  };
}

interface Subject {
  engine: Engine;
  node: BuiltNode;
  neighbour: BuiltNode;
  dir: string;
  quick: boolean;
  say: (line: string) => void;
}

async function coldStarts({ engine, node, neighbour, dir, quick, say }: Subject, peers: Peers): Promise<Row[]> {
  const lowest = (): Samples => new Samples('lowest');
  const [bare, oci, runc, gvisor, docker, dockerPeer] = [lowest(), lowest(), lowest(), lowest(), lowest(), lowest()];
  const [added, alone, beside, version, list] = [lowest(), lowest(), lowest(), lowest(), lowest()];
  const rounds = quick ? 12 : 40;
  for (let round = 0; round < rounds; round++) {
    if (round % 10 === 0) say(`round ${round + 1} of ${rounds}`);
    await bare.take(() => bareNode(join(dir, 'bundle.mjs')));
    await oci.take(() => coldCell(engine, node, input));
    if (peers.runc.ready) await runc.take(peers.runc.value);
    if (peers.docker.ready) await docker.take(peers.docker.value);
    const { celld } = peers;
    if (celld.ready) for (const turn of [0, 1]) await added.take(() => celld.value(round + turn));
    if (round % 2 === 0) {
      await version.take(() => cli(['--version'], dir));
      await list.take(() => cli(['run', 'list', '--data-dir', dir], dir));
    }
    if (round % 4 > 0) continue;
    if (peers.dockerRun.ready) await dockerPeer.take(peers.dockerRun.value);
    if (peers.gvisor.ready) await gvisor.take(peers.gvisor.value);
    await alone.take(() => jobMs(engine, neighbour));
    await beside.take(() => jobMsBesideHog(engine, neighbour));
  }
  const whyNot = (variant: Variant<unknown>): { why?: string } => (variant.ready ? {} : { why: variant.why });
  const origin = peers.engineOrigin === undefined ? {} : { note: peers.engineOrigin };
  return [
    bareRow(bare),
    ...coldRows({ name: 'oci', samples: oci, goal: '≤ 1.5' }, bare),
    ...coldRows({ name: 'runc', samples: runc, ...whyNot(peers.runc) }, bare),
    ...coldRows({ name: 'docker', samples: docker, goal: '≤ 4', ...origin, ...whyNot(peers.docker) }, bare),
    ...coldRows({ name: 'gvisor', samples: gvisor, ...whyNot(peers.gvisor) }, bare),
    ...coldRows({ name: 'dockerrun', samples: dockerPeer, ...origin, ...whyNot(peers.dockerRun) }, bare),
    addedRow(added, peers.celld),
    ...neighbourRows(alone, beside),
    {
      id: 'cli.start_ms',
      value: version.percentile(0.5),
      unit: 'ms',
      n: version.n,
      boundary: 'spawn of glovebox --version to its exit, by the Node.js of the caller; p50',
      ...version.note,
    },
    {
      id: 'cli.list_ms',
      value: list.percentile(0.5),
      unit: 'ms',
      n: list.n,
      boundary: 'spawn of glovebox run list to its exit; p50',
      ...list.note,
    },
  ];
}

const addedRow = (added: Samples, celld: Peers['celld']): Row => ({
  id: 'celld.added_ms',
  value: added.percentile(0.5),
  unit: 'ms',
  n: added.n,
  boundary:
    'boot to the first byte of the channel by way of celld, less the same in process just before or after; p50 of the differences; goal ≤ 1',
  ...(celld.ready ? added.note : { note: celld.why }),
});

function neighbourRows(alone: Samples, beside: Samples): Row[] {
  const boundary = 'a fixed job in a cell, by its own clock; p50 of the middles of 25 jobs';
  const [base, value] = [alone.percentile(0.5), beside.percentile(0.5)];
  return [
    { id: 'neighbour.alone_ms', value: base, unit: 'ms', n: alone.n, boundary, ...alone.note },
    {
      id: 'neighbour.slowdown_ratio',
      value: over(value, base),
      unit: '×',
      n: beside.n,
      boundary:
        'the same beside a second live cell that takes all the processor, memory traffic and scratch that it may, over it alone; goal < 2',
      ...beside.note,
    },
  ];
}

async function channelRows(
  engine: Engine,
  node: BuiltNode,
  quick: boolean,
  say: (line: string) => void,
): Promise<Row[]> {
  say('measuring the channel …');
  const rtt = await roundTrips(engine, node, quick ? 300 : 1000);
  const throughput = await uploads(engine, quick ? 3 : 9);
  return [
    {
      id: 'channel.rtt_ms',
      value: rtt.percentile(0.5),
      unit: 'ms',
      n: rtt.n,
      boundary: 'ping to pong between host and an idle cell; p50',
      ...rtt.note,
    },
    {
      id: 'channel.mb_s',
      value: throughput.percentile(0.5),
      unit: 'MB/s',
      n: throughput.n,
      boundary: '64 MB that a node writes as a file, from its first to its last byte at the host; nothing stored; p50',
      ...(throughput.failures ? throughput.note : {}),
    },
  ];
}

const bareNode = (bundle: string): Promise<number> =>
  timed(process.execPath, [here('./bare.mjs')], JSON.stringify({ bundle, input, config: {} }));

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
async function roundTrips({ driver }: Engine, node: BuiltNode, count: number): Promise<Samples> {
  const samples = new Samples('lowest');
  const cell = await driver.boot(planRunCell(node.image, node.limits, 'ns'), newCellId());
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
      requireSuccess(await attempt({ ...engine, blobs }, node, { bytes: uploadBytes }));
      return uploadBytes / 1e6 / ((last - first) / 1000);
    });
  }
  return samples;
}
