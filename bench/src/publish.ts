import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Report, type Row, report } from './report.ts';
import { Samples } from './samples.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const root = here('../..');
const program = join(root, 'apps/cli/bin/glovebox.mjs');
const environment = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  LANG: 'C.UTF-8',
  ...(process.env.GLOVEBOX_EXTRA_CA === undefined ? {} : { GLOVEBOX_EXTRA_CA: process.env.GLOVEBOX_EXTRA_CA }),
};

/**
 * From a directory to a release by the command line, each command a process of its own, beside the same tools without
 * cells: tsc, esbuild and node --test of csv-profile, once each, on this host.
 *
 * Cold: no cache, no record, dependencies fetched. Warm: one line of the source and the version changed since the last one. Cached:
 * nothing changed.
 */
export async function measure(quick: boolean, say: (line: string) => void): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-bench-'));
  try {
    say('making the images …');
    const images = join(dir, 'images-of');
    await glovebox(images, ['image', 'build']);
    const rounds = quick ? 3 : 9;
    const samples = {
      bare: new Samples('lowest'),
      cold: new Samples('lowest'),
      warm: new Samples('lowest'),
      cached: new Samples('lowest'),
      deps50: new Samples('lowest'),
      verify: new Samples('lowest'),
    };
    const bare = join(dir, 'bare');
    copyPackage(join(root, 'examples/csv-profile'), bare);
    await installForBare(bare);
    for (let round = 0; round < rounds; round++) {
      say(`round ${round + 1} of ${rounds}`);
      const home = makeHome(dir, images, round);
      const node = join(home, 'csv-profile');
      copyPackage(join(root, 'examples/csv-profile'), node);
      await samples.bare.take(() => bareTools(bare));
      await samples.cold.take(() => glovebox(home, ['node', 'publish', node]));
      changeOneLine(node, round);
      await samples.warm.take(() => glovebox(home, ['node', 'publish', node]));
      await samples.cached.take(() => glovebox(home, ['node', 'publish', node]));
      const receipt = await receiptOf(home);
      for (let i = 0; i < 3; i++) await samples.verify.take(() => glovebox(home, ['verify', receipt]));
      if (round % 3 === 0) {
        const big = join(home, 'fifty-dependencies');
        copyPackage(here('../nodes/deps50'), big);
        await samples.deps50.take(() => glovebox(home, ['node', 'publish', big]));
      }
      rmSync(home, { recursive: true, force: true });
    }
    say('watching …');
    const dev = await saves(makeHome(dir, images, rounds), quick ? 3 : 9);
    return report('publish', quick, rows({ ...samples, ...dev }));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

type Measured = Record<
  'bare' | 'cold' | 'warm' | 'cached' | 'deps50' | 'verify' | 'saveToResult' | 'saveToValidated',
  Samples
>;

function rows(s: Measured): Row[] {
  const bare = s.bare.percentile(0.5);
  const whole = 'spawn of glovebox node publish <dir> to its exit: all checks, artifact, release; p50';
  const row = (id: string, samples: Samples, boundary: string, vs?: number | null): Row => {
    const value = samples.percentile(0.5);
    const ratio =
      vs === undefined || vs === null || value === null
        ? {}
        : { ratio: Math.round((value / vs) * 1000) / 1000, vs: 'bare.cold_ms' };
    return { id, value, unit: 'ms', n: samples.n, boundary, ...ratio, ...samples.note };
  };
  return [
    row('bare.cold_ms', s.bare, 'tsc, esbuild and node --test of csv-profile one after the other, no cell; p50'),
    row('publish.cold_ms', s.cold, `${whole}; csv-profile, nothing cached; goal ≤ 5,000`, bare),
    row('publish.warm_ms', s.warm, `${whole}; one source line and the version changed; goal ≤ 1,500`, bare),
    row('publish.cached_ms', s.cached, `${whole}; nothing changed`),
    row('deps50.cold_ms', s.deps50, `${whole}; 50 dependencies of 82 packages, nothing cached; goal ≤ 20,000`),
    row(
      'dev.save_to_result_ms',
      s.saveToResult,
      'write of a source file to the result of its fixture; node dev; p50; goal ≤ 1,500',
    ),
    row('dev.save_to_validated_ms', s.saveToValidated, 'the same to the report of all checks; p50'),
    row('verify.ms', s.verify, 'spawn of glovebox verify <receipt> to its exit; p50'),
  ];
}

/** A data directory with images and nothing else. */
function makeHome(dir: string, images: string, round: number): string {
  const home = join(dir, `home-${round}`);
  mkdirSync(home, { mode: 0o700 });
  symlinkSync(join(images, 'images'), join(home, 'images'));
  return home;
}

function copyPackage(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    filter: (path) => !path.includes('node_modules') && !path.includes('.glovebox'),
  });
}

function changeOneLine(node: string, round: number): void {
  appendFileSync(join(node, 'src/index.ts'), `// ${round}\n`);
  for (const file of ['package.json', 'package-lock.json']) {
    const path = join(node, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"version": "1.0.0"', `"version": "1.0.${round + 1}"`));
  }
}

async function receiptOf(home: string): Promise<string> {
  const ran = await output(home, ['node', 'run', 'default/csv-profile', '-i', '{"csv":"a,b\\n1,2\\n"}', '--json']);
  const { run } = JSON.parse(ran) as { run: string };
  const path = join(home, 'receipt.json');
  writeFileSync(path, await output(home, ['run', 'show', run, '--receipt']));
  return path;
}

/** Its dependencies and types, as npm would put them there; nothing of that is measured. */
async function installForBare(node: string): Promise<void> {
  await timed('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], node);
  await timed(process.execPath, [program, 'node', 'refresh', node], node);
  const sdk = (name: string): string[] => [`./.glovebox/types/${name}.d.ts`];
  const compilerOptions = {
    target: 'ESNext',
    module: 'NodeNext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    paths: { '@glovebox/sdk': sdk('index'), '@glovebox/sdk/testing': sdk('testing') },
  };
  writeFileSync(join(node, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src', 'test'] }));
}

async function bareTools(node: string): Promise<number> {
  const bin = join(root, 'node_modules');
  const started = performance.now();
  await timed(process.execPath, [join(bin, 'typescript/bin/tsc'), '--project', 'tsconfig.json'], node);
  await timed(
    join(bin, `@esbuild/linux-${process.arch}/bin/esbuild`),
    [
      'src/index.ts',
      '--bundle',
      '--platform=node',
      '--format=esm',
      '--external:@glovebox/sdk',
      '--outfile=out/bundle.mjs',
    ],
    node,
  );
  const tests = readdirSync(join(node, 'test')).map((name) => join('test', name));
  await timed(process.execPath, ['--import', './.glovebox/register.mjs', '--test', ...tests], node);
  return performance.now() - started;
}

/** Save a source file again and again under `node dev`, and wait for what it tells. */
async function saves(home: string, times: number): Promise<Pick<Measured, 'saveToResult' | 'saveToValidated'>> {
  const node = join(home, 'csv-profile');
  copyPackage(join(root, 'examples/csv-profile'), node);
  const saveToResult = new Samples('lowest');
  const saveToValidated = new Samples('lowest');
  const dev = spawn(process.execPath, [program, 'node', 'dev', node, '--json=lines'], {
    env: { ...environment, HOME: home, GLOVEBOX_DATA_DIR: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(dev, 'exit');
  try {
    const lines = createInterface({ input: dev.stdout })[Symbol.asyncIterator]();
    await bothEvents(lines, performance.now());
    for (let i = 0; i < times; i++) {
      const savedAt = performance.now();
      appendFileSync(join(node, 'src/index.ts'), `// ${i}\n`);
      const seen = await bothEvents(lines, savedAt);
      await saveToResult.take(async () => seen.fixture);
      await saveToValidated.take(async () => seen.validated);
    }
  } finally {
    dev.kill('SIGINT');
    await exited;
  }
  return { saveToResult, saveToValidated };
}

/** @returns milliseconds since `since`. */
async function bothEvents(
  lines: AsyncIterator<string>,
  since: number,
): Promise<{ fixture: number; validated: number }> {
  const seen = { fixture: Number.NaN, validated: Number.NaN };
  while (Number.isNaN(seen.fixture) || Number.isNaN(seen.validated)) {
    const next = await lines.next();
    if (next.done === true) throw new Error('node dev has ended');
    const event = JSON.parse(next.value) as { event: string; state?: string; error?: { message: string } };
    if (event.event === 'failure') throw new Error(event.error?.message);
    if (event.event === 'fixture' || event.event === 'validated') seen[event.event] = performance.now() - since;
  }
  return seen;
}

const glovebox = (home: string, args: string[]): Promise<number> =>
  timed(process.execPath, [program, ...args, '--data-dir', home, '--quiet'], home);

async function output(home: string, args: string[]): Promise<string> {
  const { out } = await finished(process.execPath, [program, ...args, '--data-dir', home, '--quiet'], home);
  return out;
}

/** @returns milliseconds from spawn to exit. */
async function timed(command: string, args: string[], cwd: string): Promise<number> {
  const started = performance.now();
  await finished(command, args, cwd);
  return performance.now() - started;
}

async function finished(command: string, args: string[], cwd: string): Promise<{ out: string }> {
  mkdirSync(cwd, { recursive: true, mode: 0o700 });
  const child = spawn(command, args, { cwd, env: { ...environment, HOME: cwd }, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.err += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return texts;
  throw new Error(`${command} ${args.slice(0, 4).join(' ')} exited ${code}: ${(texts.err + texts.out).slice(0, 400)}`);
}
