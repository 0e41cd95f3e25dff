import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  assembleStdioShim,
  type ChannelWiring,
  cellCommand,
  cellEnvironment,
  cellPaths,
  joinStreams,
  planRunCell,
} from '@glovebox/cell';
import { type ChannelEnd, type ChannelLimits, type ServerStream, serveChannel } from '@glovebox/channel';
import {
  controlAuthority,
  controlPaths,
  type Digest,
  type GuestError,
  type GuestLog,
  guestErrorSchema,
  guestLogSchema,
  type Job,
  jobSchema,
  manifestSchema,
  newAttemptId,
  newRunId,
  type Progress,
  progressSchema,
  runLimits,
} from '@glovebox/contract';
import { makePipes } from './pipes.ts';

/** The harness as it goes into the image, in a directory of its own, with the program that moves its channel. */
export interface BuiltHarness {
  file: string;
  stdio: string;
  remove(): void;
}

export function buildHarness(): BuiltHarness {
  const directory = mkdtempSync(join(tmpdir(), 'guest-harness-'));
  const file = join(directory, 'harness.cjs');
  const esbuild = createRequire(import.meta.url).resolve(`@esbuild/linux-${process.arch}/bin/esbuild`);
  const entry = fileURLToPath(new URL('../src/harness.ts', import.meta.url));
  execFileSync(esbuild, [
    entry,
    '--bundle',
    '--minify',
    '--platform=node',
    '--target=node26',
    '--format=cjs',
    `--outfile=${file}`,
    '--log-level=error',
  ]);
  const stdio = join(directory, 'stdio');
  writeFileSync(stdio, assembleStdioShim(), { mode: 0o755 });
  return { file, stdio, remove: () => rmSync(directory, { recursive: true }) };
}

export interface HostOptions {
  input?: unknown;
  config?: unknown;
  limits?: Partial<Job['limits']>;
  bundle?: Partial<Job['bundle']>;
  /** Whether the node may use HTTP. */
  http?: boolean;
  /** What the host accepts of the channel. */
  channel?: Partial<ChannelLimits>;
  /** How the cell gets its channel; by a socket on fd 3 where it is left out. */
  wiring?: ChannelWiring['kind'];
  /** Requests of the node for the outside; without it there is none. */
  onEgress?: (stream: ServerStream) => void;
  /** Answer a stream otherwise. @returns false to leave it to the host. */
  onStream?: (stream: ServerStream, path: string) => boolean;
}

export type Outcome =
  | { kind: 'output'; text: string; output: unknown }
  | { kind: 'error'; error: GuestError }
  | { kind: 'exit'; code: number | null; signal: string | null };

export interface HostedFile {
  name: string;
  mediaType: string | undefined;
  content: Buffer;
}

/** What the host saw of one attempt. Everything that came from the cell was checked against the contract. */
export interface Attempt {
  readonly outcome: Outcome;
  readonly logs: GuestLog[];
  readonly progress: Progress[];
  readonly files: HostedFile[];
  readonly loaded: boolean;
  /** Raw bytes of fds 1 and 2. */
  readonly raw: string;
  readonly results: number;
  /** How the channel ended; `closed` where it was well until the host let it go. */
  readonly channelEnd: ChannelEnd['kind'];
}

export interface Running {
  readonly ended: Promise<Attempt>;
  readonly logs: GuestLog[];
  readonly progress: Progress[];
  readonly pid: number;
  isLoaded(): boolean;
  cancel(reason: string): void;
  /** Close the host's end of the channel, as its death would. */
  hangUp(): void;
}

const idleLimits = runLimits(
  manifestSchema.parse({ schemaVersion: 1, id: 'test-node', title: 'Test', input: {}, output: {} }),
);

/** The command of a cell, with the paths of this host. The scratch directory is the host's. */
function command({ file, stdio }: BuiltHarness, wiring: ChannelWiring): [string, ...string[]] {
  const plan = planRunCell(`sha256:${'0'.repeat(64)}` as Digest, idleLimits, 'ns');
  const own: { [path: string]: string } = {
    [cellPaths.node]: process.execPath,
    [cellPaths.stdio]: stdio,
    [cellPaths.harness]: file,
  };
  const args = cellCommand(plan, wiring).map(
    (arg) => own[arg] ?? arg.replace(`=${dirname(cellPaths.harness)}/`, `=${dirname(file)}/`),
  );
  return args as [string, ...string[]];
}

/** Start it, with the real channel: a socket on fd 3, or two pipes on fds 0 and 1. */
function spawnCell(harness: BuiltHarness, kind: ChannelWiring['kind']): { child: ChildProcess; transport: Duplex } {
  const [program, ...args] = command(harness, kind === 'socket' ? { kind } : { kind, marker: '' });
  const options = { env: { ...cellEnvironment }, cwd: '/' };
  if (kind === 'socket') {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    return { child, transport: child.stdio[3] as Duplex };
  }
  const pipes = makePipes();
  const child = spawn(program, args, { ...options, stdio: [...pipes.fds, 'pipe'] });
  pipes.closeChildsEnds();
  return { child, transport: joinStreams(pipes.input, pipes.output) };
}

/** Run one bundle as a cell would, until a result or the end of the process. */
export function start(harness: BuiltHarness, bundleText: string, options: HostOptions = {}): Running {
  const bundle = Buffer.from(bundleText);
  const { child, transport } = spawnCell(harness, options.wiring ?? 'socket');
  let raw = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (raw += text));
  const exited = new Promise<Outcome>((resolve) =>
    child.on('close', (code, signal) => resolve({ kind: 'exit', code, signal })),
  );

  const logs: GuestLog[] = [];
  const progress: Progress[] = [];
  const files: HostedFile[] = [];
  let loaded = false;
  let results = 0;
  let cancelStream: ServerStream | undefined;
  const failures: unknown[] = [];
  let settle: (outcome: Outcome) => void = () => undefined;
  const result = new Promise<Outcome>((resolve) => {
    settle = resolve;
  });

  // Not by the schema: zod leaves out own keys named __proto__.
  const values = { input: options.input ?? {}, config: options.config ?? {} };
  const job: Job = jobSchema.parse({
    ids: { project: 'default', run: newRunId(), attempt: newAttemptId(), node: 'test-node', correlation: 'corr-1' },
    nowMs: 1_767_225_600_000,
    timeoutMs: idleLimits.timeoutMs,
    bundle: {
      digest: `sha256:${createHash('sha256').update(bundle).digest('hex')}`,
      sizeBytes: bundle.length,
      ...options.bundle,
    },
    limits: {
      outputBytes: idleLimits.outputBytes,
      logBytes: idleLimits.logBytes,
      filesBytes: 64 * 1024 * 1024,
      filesCount: 10,
      scratchBytes: idleLimits.scratchBytes,
      ...options.limits,
    },
    http: options.http ?? false,
    idempotencyKey: 'key-1',
    input: {},
    config: {},
  });

  const routes: { [path: string]: (stream: ServerStream) => Promise<void> | void } = {
    [controlPaths.job]: (stream) => answer(stream, 200, JSON.stringify({ ...job, ...values })),
    [controlPaths.bundle]: (stream) => answer(stream, 200, bundle),
    [controlPaths.loaded]: (stream) => {
      loaded = true;
      return answer(stream, 204);
    },
    [controlPaths.cancel]: (stream) => {
      cancelStream = stream;
    },
    [controlPaths.log]: async (stream) => {
      for await (const line of lines(stream.body)) logs.push(guestLogSchema.parse(JSON.parse(line)));
    },
    [controlPaths.progress]: async (stream) => {
      progress.push(progressSchema.parse(JSON.parse(await text(stream.body))));
      await answer(stream, 204);
    },
    [controlPaths.result]: async (stream) => {
      results++;
      const body = await text(stream.body);
      if (stream.head.headers['glovebox-result'] === 'output')
        settle({ kind: 'output', text: body, output: JSON.parse(body) });
      else settle({ kind: 'error', error: guestErrorSchema.parse(JSON.parse(body)) });
    },
  };
  const onStream = (stream: ServerStream): void => {
    const url = new URL(stream.head.url);
    // As the host tells them apart, by the text.
    if (!stream.head.url.startsWith(`http://${controlAuthority}/`)) {
      if (!options.onEgress) throw new Error(`a request to ${url.host}`);
      options.onEgress(stream);
      return;
    }
    if (options.onStream?.(stream, url.pathname)) return;
    const route = url.pathname.startsWith(controlPaths.files)
      ? (upload: ServerStream) => takeFile(upload, url.pathname.slice(controlPaths.files.length), files)
      : routes[url.pathname];
    if (!route) throw new Error(`no route for ${url.pathname}`);
    Promise.resolve(route(stream)).catch((error: unknown) => {
      if (!stream.signal.aborted) failures.push(error);
    });
  };
  const channel = serveChannel(transport, onStream, options.channel);

  const ended = (async () => {
    const outcome = await Promise.race([result, exited]);
    child.kill('SIGKILL');
    await exited;
    channel.close();
    if (failures.length > 0) throw new AggregateError(failures, 'the host could not take what the cell sent');
    const channelEnd = (await channel.ended).kind;
    return { outcome, logs, progress, files, loaded, raw, results, channelEnd };
  })();
  const cancel = (reason: string): void => {
    if (cancelStream) void answer(cancelStream, 200, JSON.stringify({ reason, graceMs: 2000 }));
  };
  return {
    ended,
    logs,
    progress,
    pid: child.pid as number,
    isLoaded: () => loaded,
    cancel,
    hangUp: () => channel.close(),
  };
}

export const attempt = (harness: BuiltHarness, bundle: string, options: HostOptions = {}): Promise<Attempt> =>
  start(harness, bundle, options).ended;

async function takeFile(stream: ServerStream, name: string, files: HostedFile[]): Promise<void> {
  const content = await bytes(stream.body);
  files.push({ name, mediaType: stream.head.headers['content-type'], content });
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
  await answer(stream, 201, JSON.stringify({ digest, sizeBytes: content.length }));
}

export async function answer(stream: ServerStream, status: number, body?: string | Uint8Array): Promise<void> {
  stream.respond({ status, headers: {} });
  if (body !== undefined) await stream.write(Buffer.from(body as string));
  stream.end();
}

export async function bytes(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const text = async (body: AsyncIterable<Uint8Array>): Promise<string> => (await bytes(body)).toString('utf8');

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      yield rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
    }
  }
}
