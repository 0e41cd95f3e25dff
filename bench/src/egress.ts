import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Egress } from '@glovebox/egress';
import type { Engine } from '@glovebox/engine';
import { readSnapshotDir } from '@glovebox/validate';
import { defaultConfig } from '../../apps/cli/src/config.ts';
import { openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { build } from './built-node.ts';
import { coldCell } from './cold-cell.ts';
import { openContainerEngine, openDocker } from './drivers.ts';
import { addedRows, growthRow, loadRow, policyRow, rateRows } from './egress-rows.ts';
import { manifestRules, policyOfManyRules } from './egress-rules.ts';
import { directly, type Fetcher, inCell } from './fetcher.ts';
import { hostPeak } from './host-peak.ts';
import { type BenchOrigin, openOrigin } from './origin.ts';
import { policyChecks } from './policy-check.ts';
import { type Report, type Row, report } from './report.ts';
import { Samples } from './samples.ts';
import { type Closing, tryOpen, type Variant } from './variant.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * What a request of a cell takes beyond the same request of bare Node.js to the same origin, one after the other and many at
 * once; what the host holds meanwhile; what a decision takes; and what the start of a cell has of it.
 *
 * Runs are whole ones, under a policy of 1,000 rules and a manifest of 100, each request in the log on disk before it leaves, and a hook
 * on each answer that lets it through.
 */
export async function measure(quick: boolean, say: (line: string) => void): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-bench-'));
  const closings: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })];
  const closing: Closing = (close) => closings.push(close);
  try {
    const origin = await openOrigin(dir, closing);
    const egress = { extraCa: [origin.caFile], hosts: { [origin.host]: '127.0.0.1' } };
    // For the command line, which works in the same directory.
    writeFileSync(join(dir, 'glovebox.yaml'), JSON.stringify({ egress }), { mode: 0o600 });
    const { engine, close } = await openLocalEngine({
      ...defaultConfig(dir),
      registry: undefined,
      extraCa: undefined,
      egress,
    });
    closing(close);
    say('making the images …');
    await engine.images.build({});
    const subject = await openSubject(engine, origin, dir, closing);
    const rows = [
      ...(await growth(subject, quick, say)),
      ...(await added(subject, quick, say)),
      ...(await rates(subject, quick, say)),
      policyRow(await policyChecks(quick ? 20 : 200)),
      await startCost(engine, quick, say),
    ];
    return report('egress', quick, rows);
  } finally {
    for (const close of closings.reverse()) await close();
  }
}

interface Subject {
  dir: string;
  packageDir: string;
  origin: BenchOrigin;
  direct: Fetcher;
  oci: Fetcher;
  docker: Variant<Fetcher>;
}

async function openSubject(engine: Engine, origin: BenchOrigin, dir: string, closing: Closing): Promise<Subject> {
  await engine.egressPolicies.set('default', policyOfManyRules(origin), 0, 'bench', Date.now());
  const bundlePath = join(dir, 'fetcher.mjs');
  writeFileSync(bundlePath, (await build(engine, here('../nodes/fetcher'))).bundle);
  const files = await packageFor(origin.port);
  const packageDir = join(dir, 'fetcher');
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(packageDir, path)), { recursive: true });
    writeFileSync(join(packageDir, path), bytes);
  }
  const screened = { ...engine, egress: screening(engine.egress) };
  const container = await openContainerEngine(closing);
  const docker = await tryOpen(async () => {
    if (!container.ready) throw new Error(container.why);
    const driver = openDocker({ dir, imagesDirectory: join(dir, 'images') }, container.value);
    const fetcher = inCell({ ...screened, driver }, files);
    await fetcher({ url: origin.url('small'), warmup: 1, requests: 1, parallel: 1, notBeforeMs: 0 });
    return fetcher;
  });
  return { dir, packageDir, origin, direct: directly(bundlePath, origin), oci: inCell(screened, files), docker };
}

/** The package of the node, with as many rules as a manifest can have and the port of the origin in the last one. */
async function packageFor(port: number): Promise<ReadonlyMap<string, Uint8Array>> {
  const snapshot = await readSnapshotDir(here('../nodes/fetcher'));
  if (!snapshot.ok) throw new Error(JSON.stringify(snapshot.findings));
  const manifest = JSON.parse(Buffer.from(snapshot.files.get('node.json') ?? '').toString());
  manifest.capabilities.http.rules = manifestRules(port);
  return new Map(snapshot.files).set('node.json', Buffer.from(JSON.stringify(manifest)));
}

/** Where a search for secrets will stand: each chunk passes through a generator more. */
const screening = (egress: Egress): Egress => ({
  open: (options) => egress.open({ ...options, screen: passThrough }),
});

async function* passThrough(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield chunk;
}

/** By the command line, whose process is the host's as it is: started with its flags, and with nothing in it but the run. */
async function growth(
  { origin, packageDir, dir }: Subject,
  quick: boolean,
  say: (line: string) => void,
): Promise<Row[]> {
  const events = quick ? 40_000 : 200_000;
  const samples = { down: new Samples('lowest'), events: new Samples('lowest') };
  const peak = (answer: string): Promise<number> => {
    const input = { url: origin.url(answer), warmup: 0, requests: 1, parallel: 1, notBeforeMs: 0 };
    return hostPeak(['node', 'run', packageDir, '--trial', '--input', JSON.stringify(input)], dir);
  };
  say('measuring memory …');
  await peak('small');
  for (let i = 0; i < (quick ? 1 : 3); i++) {
    const base = await peak('small');
    await samples.down.take(async () => (await peak(`bytes/${100_000_000}`)) - base);
    await samples.events.take(async () => (await peak(`events/${events}`)) - base);
  }
  return [growthRow(samples, events)];
}

async function added(
  { direct, oci, docker, origin }: Subject,
  quick: boolean,
  say: (line: string) => void,
): Promise<Row[]> {
  const samples = { direct: new Samples('lowest'), oci: new Samples('lowest'), docker: new Samples('lowest') };
  const [rounds, requests] = quick ? [2, 300] : [8, 500];
  const fetches = { url: origin.url('small'), warmup: 100, requests, parallel: 1, notBeforeMs: 0 };
  const take = (name: keyof typeof samples, fetcher: Fetcher): Promise<void> =>
    samples[name].takeMany(requests, async () => (await fetcher(fetches)).takenMs);
  for (let round = 0; round < rounds; round++) {
    say(`round ${round + 1} of ${rounds}`);
    const turns = [() => take('direct', direct), () => take('oci', oci)];
    for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
    if (docker.ready && round % 2 === 0) await take('docker', docker.value);
  }
  return addedRows(samples, docker.ready ? undefined : docker.why);
}

/** As many as a cell may begin in a second are fewer than a host can serve, so several cells ask together. */
const askingCells = 3;
const parallel = 16;
/** Within which cells that boot side by side are up and warm. */
const bootMs = 6_000;

async function rates({ direct, oci, origin }: Subject, quick: boolean, say: (line: string) => void): Promise<Row[]> {
  const samples = { direct: new Samples('highest'), oci: new Samples('highest') };
  const requests = quick ? 1_500 : 5_000;
  const rate = (fetcher: Fetcher, processes: number) => async (): Promise<number> => {
    const notBeforeMs = Date.now() + bootMs;
    const fetches = { url: origin.url('small'), warmup: 20, requests, parallel, notBeforeMs };
    const all = await Promise.all(Array.from({ length: processes }, () => fetcher(fetches)));
    const startedAtMs = Math.min(...all.map((one) => one.startedAtMs));
    const endedAtMs = Math.max(...all.map((one) => one.endedAtMs));
    const lastMs = Math.max(...all.map((one) => one.startedAtMs));
    // They would not have asked at once.
    if (lastMs - startedAtMs > 200) throw new Error(`one began ${lastMs - startedAtMs} ms after another`);
    return (processes * requests * 1000) / (endedAtMs - startedAtMs);
  };
  for (let i = 0; i < (quick ? 1 : 3); i++) {
    say('many at once …');
    await samples.direct.take(rate(direct, askingCells));
    await samples.oci.take(rate(oci, askingCells));
  }
  return rateRows(samples, { cells: askingCells, parallel });
}

async function startCost(engine: Engine, quick: boolean, say: (line: string) => void): Promise<Row> {
  const node = await build(engine, here('../nodes/small'));
  const input = { values: [3, 1, 2] };
  const grant = { rules: manifestRules(443).slice(-1), maxRequests: 50, maxResponseBytes: 1e7, maxRedirects: 3 };
  const samples = new Samples('lowest');
  const rounds = quick ? 10 : 60;
  say('starting cells with http and without …');
  for (let i = 0; i < 2; i++) await coldCell(engine, node, input);
  for (let round = 0; round < rounds; round++)
    await samples.take(async () => {
      // Which is first alternates, so that what the machine does meanwhile falls on both.
      const order = round % 2 === 0 ? [{ grant }, {}] : [{}, { grant }];
      const [first, second] = [
        await coldCell(engine, node, input, order[0]),
        await coldCell(engine, node, input, order[1]),
      ];
      return round % 2 === 0 ? first - second : second - first;
    });
  return loadRow(samples);
}
