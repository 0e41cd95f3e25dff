import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GloveboxError } from '@glovebox/contract/errors';
import { parseAnswer } from './answer.ts';
import { encodeFrame, type Frame, FrameReader } from './frames.ts';
import { type JudgeProgram, judgeProgram } from './program.ts';
import { type Answer, answerLimits, type Request } from './protocol.ts';

/**
 * How long an operation may take, and how much longer for each KiB that it is given. Generous: a step budget, which does
 * not depend on how busy the machine is, ends most of what is costly long before.
 */
export const deadlines = { operationMs: 5000, perKiBMs: 1, startMs: 20_000 } as const;
const heapMiB = 128;
const cpuSeconds = 120;
const limits = `ulimit -c 0 && ulimit -f 0 && ulimit -t ${cpuSeconds} && unset PWD && exec "$@"`;

/** Found once: it does not change while this process lives. */
let program: Promise<JudgeProgram> | undefined;

interface Call {
  request: Request;
  body: Uint8Array;
  deadlineMs: number;
  resolve(answer: { answer: Answer; body: Buffer }): void;
  reject(error: GloveboxError): void;
}

/**
 * The child, as seen from the parent. One request is under way at a time, others wait. Anything that the child does other
 * than to answer in time and in shape ends it for good, by SIGKILL: what waits then fails, and so does what comes after.
 *
 * It keeps the parent's event loop alive only while a request is under way.
 */
export class JudgeChild {
  #process: ChildProcess | undefined;
  readonly #reader = new FrameReader(answerLimits);
  readonly #waiting: Call[] = [];
  #current: Call | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dead: GloveboxError | undefined;

  constructor() {
    program ??= judgeProgram();
    program
      .then((found) => this.#start(found))
      // A host that has no descriptor left throws, and a rejection that nobody handles would end it.
      .catch((cause: unknown) => this.#end(notStarted(cause)));
  }

  #start(found: JudgeProgram): void {
    if (this.#dead !== undefined) return;
    // Descriptors 0 and 1 and nothing else: no environment, no working directory of the parent, no message channel.
    // The shell sets limits that Node.js cannot set, and becomes the child: no core of a crash is left with somebody's
    // values in it, no file is written, and one that loops when its parent has died ends all the same.
    const child = spawn('/bin/sh', ['-c', limits, 'sh', process.execPath, ...childArguments(found)], {
      cwd: '/',
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#process = child;
    child.on('error', (cause) => this.#end(notStarted(cause)));
    child.on('exit', (code, signal) => this.#end(tooCostly(`the check died of ${signal ?? `exit status ${code}`}`)));
    child.stdin.on('error', () => undefined);
    child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
    child.stdout.on('error', () => undefined);
    child.unref();
    this.#socket('stdin')?.unref();
    this.#socket('stdout')?.unref();
    if (this.#current !== undefined) this.#send(this.#current);
  }

  call(
    request: Request,
    body: Uint8Array,
    deadlineMs: number = deadlines.operationMs + (body.length / 1024) * deadlines.perKiBMs,
  ): Promise<{ answer: Answer; body: Buffer }> {
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) reject(this.#dead);
      else {
        this.#waiting.push({ request, body, deadlineMs, resolve, reject });
        this.#next();
      }
    });
  }

  close(): void {
    this.#end(new GloveboxError('CANCELLED', { message: 'the judge was closed' }));
  }

  #next(): void {
    if (this.#current !== undefined || this.#dead !== undefined) return;
    const call = this.#waiting.shift();
    if (call === undefined) {
      this.#socket('stdout')?.unref();
      return;
    }
    this.#current = call;
    this.#timer = setTimeout(
      () => this.#end(tooCostly(`it was not done after ${Math.round(call.deadlineMs)} ms`)),
      call.deadlineMs,
    );
    if (this.#process !== undefined) this.#send(call);
  }

  #send({ request, body }: Call): void {
    this.#socket('stdout')?.ref();
    for (const part of encodeFrame(request, body)) this.#process?.stdin?.write(part);
  }

  #receive(chunk: Buffer): void {
    const frames = this.#reader.push(chunk);
    if (frames === undefined) this.#end(malformed());
    else for (const frame of frames) this.#answer(frame);
  }

  #answer(frame: Frame): void {
    const call = this.#current;
    const answer = parseAnswer(frame.head);
    // An answer that nobody asked for is as wrong as one that cannot be read.
    if (call === undefined || answer === undefined) {
      this.#end(malformed());
      return;
    }
    clearTimeout(this.#timer);
    this.#current = undefined;
    call.resolve({ answer, body: frame.body });
    this.#next();
  }

  #end(error: GloveboxError): void {
    if (this.#dead !== undefined) return;
    this.#dead = error;
    clearTimeout(this.#timer);
    this.#process?.kill('SIGKILL');
    this.#socket('stdin')?.destroy();
    this.#socket('stdout')?.destroy();
    const calls = this.#current === undefined ? this.#waiting : [this.#current, ...this.#waiting];
    for (const call of calls) call.reject(error);
    this.#waiting.length = 0;
    this.#current = undefined;
  }

  #socket(name: 'stdin' | 'stdout'): Socket | undefined {
    // Pipes of a child are sockets of the net module, which its types do not say.
    return (this.#process?.[name] ?? undefined) as Socket | undefined;
  }
}

function childArguments({ entry, directory }: JudgeProgram): string[] {
  const engine = import.meta.resolve('re2js');
  return [
    `--max-old-space-size=${heapMiB}`,
    '--max-semi-space-size=8',
    '--disallow-code-generation-from-strings',
    '--permission',
    `--allow-fs-read=${directory}/`,
    `--allow-fs-read=${dirname(dirname(fileURLToPath(engine)))}/`,
    '--no-experimental-ffi',
    '--disable-warning=ExperimentalWarning',
    entry,
    engine,
  ];
}

const tooCostly = (why: string) =>
  new GloveboxError('SCHEMA_TOO_COSTLY', { message: `A value could not be checked against its schema: ${why}.` });
const notStarted = (cause: unknown) =>
  new GloveboxError('HOST_UNSUPPORTED', { message: 'No child process could be started.', cause });
const malformed = () => new GloveboxError('INTERNAL', { message: 'The judge gave an answer that is none.' });
