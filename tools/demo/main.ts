import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openInstance, verifyReceipt } from '@glovebox/artifact';
import { errorCatalogue, formatDuration, formatSize, GloveboxError, toErrorData } from '@glovebox/contract';
import {
  type CheckEvent,
  type Engine,
  publishRelease,
  putDraft,
  type ReleaseRunResult,
  runRelease,
  validateDraft,
  verifyRun,
} from '@glovebox/engine';
import { removeAbandoned, stagedName } from '@glovebox/engine/staging';
import { readSnapshotDir } from '@glovebox/validate';
import { defaultCells, localActor, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { errorText, paint, table } from '../../apps/cli/src/output.ts';
import { logText } from '../../apps/cli/src/run-text.ts';
import { containAll, type Sabotage, sabotages } from './contain.ts';
import { askTwice } from './egress.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Images and caches are kept between demos, so that a second one is quick and needs no network; its records are its own. */
const kept = { imagesDir: join(root, '.cache', 'demo'), cacheDir: join(root, '.cache', 'demo', 'cache') };

const say = (text = ''): void => void process.stdout.write(`${text}\n`);
const step = (text: string): void => say(`\n${paint(['bold', 'cyan'], '▸')} ${paint('bold', text)}`);

try {
  process.exitCode = await demo();
} catch (error) {
  process.stderr.write(`${errorText(toErrorData(error))}\n`);
  if (!(error instanceof GloveboxError)) process.stderr.write(`${(error as Error).stack}\n`);
  say('demo: failed');
  process.exitCode = GloveboxError.is(error) ? errorCatalogue[error.code].exit : 1;
}

async function demo(): Promise<number> {
  const sabotage = readFlags();
  const dataDir = await makeDataDir();
  const config = {
    dataDir,
    ...defaultCells,
    registry: undefined,
    minimumPackageAgeMs: undefined,
    extraCa: process.env.GLOVEBOX_EXTRA_CA,
  };
  const { engine, close } = await openLocalEngine(config, {}, kept);
  try {
    step('Images from scratch: Node.js, its libraries, the guest; no shell, no package manager');
    await engine.images.build({ onProgress: (line) => say(`  ${line}`) });
    for (const kind of ['runtime', 'builder'] as const) {
      const { digest, sizeBytes } = await engine.images.current(kind);
      say(`  ${kind.padEnd(8)} ${digest}  ${formatSize(sizeBytes)}`);
    }

    step('csv-profile, proved: every check in cells of its own, then released');
    const published = await publishExample(engine);

    step(`${published} on real data, airports.csv, in a fresh cell`);
    const result = await profileAirports(engine, published);
    say(profileTable(result));

    step('Declared and done');
    say(declaredVersusDone(result));

    step('The receipt');
    await verifyRecord(engine, dataDir, result);
    say(`  ${paint('green', 'verified')}  ${result.receiptDigest}`);

    step('Two requests over TLS: one that the node declares, and one that it does not');
    const { held, lines } = await askTwice(config, kept, sabotage === 'rules' ? 'declares-both' : 'as-it-is');
    for (const line of lines) say(`  ${line}`);
    say(`  ${held ? paint('green', 'held') : paint('red', 'NOT HELD')}`);

    step(`Three hostile nodes${sabotage === undefined ? '' : paint('red', `, with ${sabotage} weakened on purpose`)}`);
    const verdicts = await containAll(config, kept, sabotage, say);
    for (const { name, contained, why } of verdicts) {
      say(`  ${contained ? paint('green', 'contained') : paint('red', 'NOT CONTAINED')}  ${name}: ${why}`);
    }
    const contained = verdicts.filter((verdict) => verdict.contained).length;
    const ok = held && contained === verdicts.length;
    const runMs = Math.round(result.phasesMs.boot + result.phasesMs.load + result.phasesMs.run);
    say();
    say(
      `demo: ${ok ? 'ok' : 'failed'} driver=${engine.driver.name} node=${result.node.id}@${result.node.version} digest=${result.digest} receipt=verified contained=${contained}/${verdicts.length} run_ms=${runMs} published=${published}`,
    );
    return ok ? 0 : 1;
  } finally {
    await close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function makeDataDir(): Promise<string> {
  const dataDirs = join(root, '.cache', 'demo', 'data');
  await mkdir(dataDirs, { recursive: true, mode: 0o700 });
  // Of demos that were killed.
  removeAbandoned(dataDirs);
  const dataDir = join(dataDirs, stagedName());
  await mkdir(dataDir, { mode: 0o700 });
  return dataDir;
}

function readFlags(): Sabotage | undefined {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: { sabotage: { type: 'string' }, yes: { type: 'boolean', short: 'y' } },
  });
  const { sabotage } = values;
  if (sabotage === undefined) return undefined;
  const known = sabotages.find((name) => name === sabotage);
  if (known === undefined)
    throw new GloveboxError('USAGE', {
      message: `--sabotage=${sabotage} is none of ${sabotages.join(', ')}.`,
      hint: 'npm run demo -- --sabotage=mount',
    });
  return known;
}

/** @returns the reference under which it is released. */
async function publishExample(engine: Engine): Promise<string> {
  const dir = join(root, 'examples', 'csv-profile');
  const snapshot = await readSnapshotDir(dir);
  if (!snapshot.ok) throw new GloveboxError('PACKAGE_INVALID', { message: snapshot.findings[0]?.message ?? dir });
  const by = { project: 'default', actor: localActor() };
  const { draft } = await putDraft(engine, { ...by, files: snapshot.files });
  const { id, revision } = draft;
  const { report, artifact } = await validateDraft(engine, { ...by, id, revision }, { onCheck: tellCheck });
  if (artifact === null) {
    const [first] = report.findings;
    throw new GloveboxError('VALIDATION_FAILED', { message: `${first?.file ?? ''} ${first?.message ?? ''}`.trim() });
  }
  const { release } = await publishRelease(engine, { ...by, id, revision });
  say(`  ${paint('green', 'published')}  ${release.ref}  ${release.digest}`);
  return release.ref;
}

function tellCheck(event: CheckEvent): void {
  if (event.kind !== 'ended') return;
  const { id, state, durationMs, cached } = event.result;
  const mark = state === 'passed' ? paint('green', '✓') : paint('red', '✗');
  say(`  ${mark} ${id.padEnd(9)} ${cached ? 'cached' : formatDuration(durationMs)}`);
}

async function profileAirports(engine: Engine, reference: string): Promise<ReleaseRunResult> {
  const csv = await readFile(join(root, 'node_modules', 'vega-datasets', 'data', 'airports.csv'), 'utf8');
  const result = await runRelease(
    engine,
    {
      project: 'default',
      actor: localActor(),
      reference: reference.slice(reference.indexOf('/') + 1),
      inputText: JSON.stringify({ csv }),
      configText: JSON.stringify({ topValues: 3 }),
    },
    {
      onStep: (name, detail) => say(paint('dim', `  · ${name}${detail === undefined ? '' : ` ${detail}`}`)),
      onLog: (record) => say(`  ${logText(record)}`),
    },
  );
  if (result.state !== 'SUCCEEDED') {
    throw new GloveboxError('INTERNAL', {
      message: `csv-profile ended ${result.state}: ${result.error?.code} ${result.error?.message}`,
    });
  }
  return result;
}

interface Column {
  name: string;
  type: string;
  nulls: number;
  distinct: number;
  quantiles?: { p50: number };
  top: { value: string; count: number }[];
}

function profileTable(result: ReleaseRunResult): string {
  const { rows, columns } = result.output as unknown as { rows: number; columns: Column[] };
  const lines = columns.map(({ name, type, nulls, distinct, quantiles, top }) => [
    name,
    type,
    String(nulls),
    String(distinct),
    quantiles === undefined ? '' : quantiles.p50.toFixed(2),
    top
      .map(({ value, count }) => `${value} (${count})`)
      .join(', ')
      .slice(0, 60),
  ]);
  const text = table(['column', 'type', 'nulls', 'distinct', 'median', 'most frequent'], lines, [
    'nulls',
    'distinct',
    'median',
  ]);
  return `${text.replace(/^/gm, '  ')}\n  ${rows} rows`;
}

function declaredVersusDone(result: ReleaseRunResult): string {
  const { limits, peaks, phasesMs, files } = result;
  const filesBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  const lines = [
    ['http', 'nothing', `${result.egressRequests} requests`],
    ['credentials', 'nothing', 'none'],
    [
      'memory',
      formatSize(limits.memoryBytes + limits.scratchBytes),
      peaks.memoryBytes === null ? 'unknown' : formatSize(peaks.memoryBytes),
    ],
    ['pids', String(limits.pids), peaks.pids === null ? 'unknown' : String(peaks.pids)],
    ['cpu', String(limits.cpu), ''],
    ['time', formatDuration(limits.timeoutMs), formatDuration(phasesMs.load + phasesMs.run)],
    ['output', formatSize(limits.outputBytes), formatSize(peaks.outputBytes)],
    ['files', `${limits.filesCount}, ${formatSize(limits.filesBytes)}`, `${files.length}, ${formatSize(filesBytes)}`],
  ];
  return table(['what', 'declared', 'did'], lines, []).replace(/^/gm, '  ');
}

/** Twice: as somebody would who was handed the file and a key, and against all that the store has of the run. */
async function verifyRecord(engine: Engine, dataDir: string, result: ReleaseRunResult): Promise<void> {
  const { publicKeyPem } = await openInstance(dataDir);
  await verifyRun(engine, 'default', result.run, [publicKeyPem]);
  const receipt = (await engine.store.get('default', result.run))?.attempts.at(-1)?.end?.receiptText ?? '';
  const dir = await mkdtemp(join(tmpdir(), 'glovebox-demo-'));
  try {
    const path = join(dir, 'receipt.json');
    await writeFile(path, receipt);
    const verified = verifyReceipt(await readFile(path), { keys: [publicKeyPem] });
    if (!verified.ok) throw GloveboxError.fromData(verified.error);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
