import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServerStream } from '@glovebox/channel';
import {
  type CancelNotice,
  cancelGraceMs,
  controlAuthority,
  controlPaths,
  type ErrorCode,
  type FileRecord,
  fileNamePattern,
  GloveboxError,
  type GuestError,
  gatherBody,
  guestErrorSchema,
  type Job,
  jsonTextFault,
  mediaTypePattern,
  type Progress,
  parseJson,
  progressSchema,
} from '@glovebox/contract';
import type { EgressSession } from '@glovebox/egress';
import type { BlobStore } from '../ports.ts';
import type { LogIntake } from './log-intake.ts';

/**
 * Result of a cell: the output's text as it came, or the error that the guest claims. The text is UTF-8 within its limits
 * of size, depth and numbers, but nobody has seen yet whether it is JSON.
 */
export type CellResult = { kind: 'output'; text: string } | { kind: 'error'; error: GuestError };

export interface Violation {
  code: ErrorCode;
  detail: string;
}

/** Input and config of a job as JSON texts. */
export interface ValueTexts {
  input: string;
  config: string;
}

export interface ControlPlaneOptions {
  job: Job;
  /** The job's values as they came, to be handed on as they are: written anew, -0 would become 0. */
  valueTexts?: ValueTexts;
  bundle: Uint8Array;
  blobs: BlobStore;
  logs: LogIntake;
  onJobRequested: () => void;
  onLoaded: () => void;
  onProgress: (progress: Progress) => void;
  onResult: (result: CellResult) => void;
  /** The cell must die. May be called more than once; the first one counts. */
  onViolation: (violation: Violation) => void;
}

const controlOrigin = `http://${controlAuthority}`;
const attemptEnded = 'the attempt has ended';
const errorBodyBytes = 128 * 1024;
const progressBodyBytes = 4096;
const maxProgressReports = 10_000;
/** Requests that were answered with a refusal. A node that goes on asking after so many only keeps the host busy. */
const maxRefusals = 10_000;
/** Uploads that may begin for one file of the limit: each makes a file on the host's disk, even when it is broken off. */
const uploadsPerFile = 4;
/** As for input: an output is an input of the next step. */
const maxOutputDepth = 128;

/**
 * The host's side of one cell's requests. Whatever a request asks, it gets what this attempt's job grants and no more;
 * a request that does not fit the order or the shape of docs/channel.md ends the attempt, since no harness of ours makes one.
 *
 * What is for another authority than the control plane's goes to the egress of the attempt, which is there from the dispatch on.
 */
export class ControlPlane {
  readonly #options: ControlPlaneOptions;
  readonly files: FileRecord[] = [];
  #phase: 'booting' | 'dispatched' | 'loaded' | 'ended' = 'booting';
  #jobStream: ServerStream | undefined;
  #cancelStream: ServerStream | undefined;
  #cancel: CancelNotice | undefined;
  #logOpen = false;
  #bundleSent = false;
  #resultOpen = false;
  /** The result is whole: nothing new is taken in. */
  #resultWhole = false;
  #progressReports = 0;
  #filesBytes = 0;
  #filesOpen = 0;
  #uploads = 0;
  #refusals = 0;
  #egress: EgressSession | undefined;
  readonly #storing = new Set<Promise<unknown>>();
  /** Requests whose body is read, or whose answer is written. Each leaves when that is done, or has failed. */
  readonly #open = new Set<ServerStream>();

  constructor(options: ControlPlaneOptions) {
    this.#options = options;
  }

  /** Answer the held job request. Call once, after the harness has asked. The session is ended with this control plane. */
  dispatch(nowMs: number, timeoutMs: number, egress: EgressSession): void {
    const stream = this.#jobStream;
    if (stream === undefined || this.#phase !== 'booting') throw new Error('dispatched before the harness asked');
    this.#phase = 'dispatched';
    this.#egress = egress;
    const { input, config, ...rest } = this.#options.job;
    const texts = this.#options.valueTexts ?? { input: JSON.stringify(input), config: JSON.stringify(config) };
    const head = JSON.stringify({ ...rest, nowMs, timeoutMs }).slice(0, -1);
    this.#answerText(stream, 200, `${head},"input":${texts.input},"config":${texts.config}}`);
  }

  /** Tell the node to stop. It has `cancelGraceMs`; the caller kills after that. */
  cancel(reason: string): void {
    this.#cancel ??= { reason: reason.slice(0, 500), graceMs: cancelGraceMs };
    if (this.#cancelStream) this.#answerJson(this.#cancelStream, 200, this.#cancel);
    this.#cancelStream = undefined;
  }

  /** From now on nothing is taken in: no file, no log, no second result. What is open is reset. */
  end(): void {
    this.#phase = 'ended';
    // First of all: when this returns nothing of the attempt leaves any more.
    this.#egress?.end();
    for (const stream of this.#open) stream.reset(attemptEnded);
    this.#jobStream?.reset(attemptEnded);
    this.#cancelStream?.reset(attemptEnded);
  }

  /** Settles when nothing of this cell is being written to the disk any more. To be asked once its streams are gone. */
  async stored(): Promise<void> {
    await Promise.allSettled(this.#storing);
  }

  /** Take one request. Never throws. */
  accept(stream: ServerStream): void {
    this.#open.add(stream);
    this.#route(stream)
      .catch((error: unknown) => {
        if (stream.signal.aborted || this.#phase === 'ended') return;
        const detail = error instanceof Error ? error.message : String(error);
        this.#options.onViolation({ code: GloveboxError.is(error) ? error.code : 'INTERNAL', detail });
      })
      .finally(() => this.#open.delete(stream));
  }

  async #route(stream: ServerStream): Promise<void> {
    if (this.#phase === 'ended' || this.#resultWhole) return stream.reset(attemptEnded);
    const target = parseTarget(stream.head.url);
    if (target === undefined) return this.#violate('a request has no valid URL');
    const route = `${stream.head.method} ${target.path}`;
    if (target.origin !== controlOrigin) {
      if (this.#egress === undefined) return this.#violate('a request for the outside before the job was dispatched');
      return this.#egress.accept(stream);
    }
    if (route === `GET ${controlPaths.job}`) return this.#job(stream);
    if (route === `GET ${controlPaths.cancel}`) return this.#holdCancel(stream);
    if (route === `POST ${controlPaths.log}`) return this.#log(stream);
    if (this.#phase === 'booting') return this.#violate(`${route} before the job was dispatched`);
    if (route === `GET ${controlPaths.bundle}`) return this.#bundle(stream);
    if (route === `POST ${controlPaths.loaded}`) return this.#loaded(stream);
    if (route === `POST ${controlPaths.progress}`) return this.#progress(stream);
    if (route === `POST ${controlPaths.result}`) return this.#result(stream);
    if (stream.head.method === 'PUT' && target.path.startsWith(controlPaths.files)) {
      if (this.#phase === 'dispatched') return this.#violate(`${route} before the bundle was loaded`);
      return this.#file(stream, target.path.slice(controlPaths.files.length));
    }
    return this.#refuse(stream, 404, 'NOT_FOUND');
  }

  async #job(stream: ServerStream): Promise<void> {
    if (this.#jobStream) return this.#violate('the job was asked for twice');
    this.#jobStream = stream;
    this.#options.onJobRequested();
  }

  async #holdCancel(stream: ServerStream): Promise<void> {
    if (this.#cancelStream) return this.#violate('cancel was asked for twice');
    if (this.#cancel) this.#answerJson(stream, 200, this.#cancel);
    else this.#cancelStream = stream;
  }

  async #log(stream: ServerStream): Promise<void> {
    if (this.#logOpen) return this.#violate('a second log stream');
    this.#logOpen = true;
    await this.#options.logs.takeStream(this.#chunks(stream));
    if (!stream.signal.aborted) this.#answer(stream, 204);
  }

  async #bundle(stream: ServerStream): Promise<void> {
    if (this.#bundleSent) return this.#violate('the bundle was asked for twice');
    this.#bundleSent = true;
    stream.respond({ status: 200, headers: { 'content-length': String(this.#options.bundle.byteLength) } });
    await stream.write(this.#options.bundle);
    stream.end();
  }

  async #loaded(stream: ServerStream): Promise<void> {
    if (this.#phase !== 'dispatched') return this.#violate('loaded was told twice');
    this.#phase = 'loaded';
    this.#options.onLoaded();
    this.#answer(stream, 204);
  }

  async #progress(stream: ServerStream): Promise<void> {
    if (++this.#progressReports > maxProgressReports) return this.#violate('more than 10,000 progress reports');
    const text = await readText(stream.body, progressBodyBytes);
    const parsed = text === undefined ? undefined : parseJson(text, { maxBytes: progressBodyBytes, maxDepth: 4 });
    const progress = parsed?.ok ? progressSchema.safeParse(parsed.value) : undefined;
    if (!progress?.success) return this.#violate('a progress report is malformed');
    // It may have come to its end after the attempt did.
    if (this.#phase === 'ended') return;
    this.#options.onProgress(progress.data);
    this.#answer(stream, 204);
  }

  async #file(stream: ServerStream, name: string): Promise<void> {
    const { filesBytes, filesCount } = this.#options.job.limits;
    const mediaType = stream.head.headers['content-type'] ?? 'application/octet-stream';
    if (filesCount === 0) return this.#refuse(stream, 403, 'FILES_NOT_DECLARED');
    if (!fileNamePattern.test(name) || !mediaTypePattern.test(mediaType))
      return this.#refuse(stream, 400, 'FILE_NAME_REFUSED');
    if (this.files.some((file) => file.name === name)) return this.#refuse(stream, 409, 'FILE_NAME_REFUSED');
    if (this.files.length + this.#filesOpen >= filesCount) return this.#refuse(stream, 413, 'FILES_LIMIT');
    if (++this.#uploads > filesCount * uploadsPerFile) return this.#refuse(stream, 413, 'FILES_LIMIT');
    this.#filesOpen++;
    // Bytes are counted as they come, over all files of the attempt, so parallel uploads cannot exceed the sum.
    const counted = async function* (this: ControlPlane) {
      for await (const chunk of this.#chunks(stream)) {
        this.#filesBytes += chunk.byteLength;
        if (this.#filesBytes > filesBytes) throw new GloveboxError('FILES_LIMIT');
        yield chunk;
      }
    }.call(this);
    try {
      const stored = await this.#store(counted, filesBytes);
      if (stream.signal.aborted || this.#phase === 'ended') return;
      if (this.files.some((file) => file.name === name)) return this.#refuse(stream, 409, 'FILE_NAME_REFUSED');
      this.files.push({ name, mediaType, digest: stored.digest, sizeBytes: stored.sizeBytes });
      this.#answerJson(stream, 201, stored);
    } catch (error) {
      if (GloveboxError.is(error, 'FILES_LIMIT')) return this.#refuse(stream, 413, 'FILES_LIMIT');
      throw error;
    } finally {
      this.#filesOpen--;
    }
  }

  /** A body chunk by chunk, as long as the attempt goes on: the last one may be on its way to its reader when that ends. */
  async *#chunks(stream: ServerStream): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream.body) {
      if (this.#phase === 'ended') throw new Error(attemptEnded);
      yield chunk;
    }
  }

  async #store(source: AsyncIterable<Uint8Array>, maxBytes: number): ReturnType<BlobStore['put']> {
    const storing = this.#options.blobs.put(source, maxBytes);
    this.#storing.add(storing);
    try {
      return await storing;
    } finally {
      this.#storing.delete(storing);
    }
  }

  async #result(stream: ServerStream): Promise<void> {
    if (this.#resultOpen) return this.#violate('a second result');
    this.#resultOpen = true;
    const kind = stream.head.headers['glovebox-result'];
    if (kind === 'output') {
      const maxBytes = this.#options.job.limits.outputBytes;
      const bytes = await gatherBody(stream.body, maxBytes);
      if (stream.signal.aborted) return;
      if (bytes === undefined)
        return this.#options.onViolation({ code: 'OUTPUT_TOO_LARGE', detail: `over ${maxBytes} bytes` });
      const text = decodeUtf8(bytes);
      if (text === undefined) return this.#options.onViolation({ code: 'OUTPUT_NOT_JSON', detail: 'not UTF-8' });
      // Not parsed here: of an output of the greatest size that alone could stall the host for seconds.
      const fault = jsonTextFault(text, { maxBytes, maxDepth: maxOutputDepth });
      if (fault) return this.#options.onViolation({ code: 'OUTPUT_NOT_JSON', detail: fault.detail });
      return this.#deliver({ kind: 'output', text });
    }
    const text = kind === 'error' ? await readText(stream.body, errorBodyBytes) : undefined;
    if (stream.signal.aborted) return;
    const parsed = text === undefined ? undefined : parseJson(text, { maxBytes: errorBodyBytes, maxDepth: 64 });
    const error = parsed?.ok ? guestErrorSchema.safeParse(parsed.value) : undefined;
    if (!error?.success) return this.#violate('the result is malformed');
    return this.#deliver({ kind: 'error', error: error.data });
  }

  /**
   * What a node said before its result counts, and each request is read by a loop of its own: one turn of the event loop
   * lets those whose bytes are all here come to their end. Those that are still open have no claim to more.
   */
  async #deliver(result: CellResult): Promise<void> {
    this.#resultWhole = true;
    await nextTurn();
    if (this.#phase !== 'ended') this.#options.onResult(result);
  }

  #violate(detail: string): void {
    this.#options.onViolation({ code: 'CHANNEL_ABUSE', detail });
  }

  #answer(stream: ServerStream, status: number): void {
    stream.respond({ status, headers: {} });
    stream.end();
  }

  #answerJson(stream: ServerStream, status: number, value: unknown): void {
    this.#answerText(stream, status, JSON.stringify(value));
  }

  #answerText(stream: ServerStream, status: number, jsonText: string): void {
    stream.respond({ status, headers: { 'content-type': 'application/json' } });
    // A held stream may have been reset meanwhile; the answer is then nobody's loss.
    stream.write(Buffer.from(jsonText)).then(
      () => stream.end(),
      () => undefined,
    );
  }

  #refuse(stream: ServerStream, status: number, code: ErrorCode): void {
    if (++this.#refusals > maxRefusals) this.#violate('more than 10,000 requests that were refused');
    else this.#answerJson(stream, status, { code });
  }
}

/**
 * An absolute URL, taken literally: the harness sends them plain, so nothing is normalised. `path` is all that follows,
 * so that one with a query or a fragment is none of the control plane's.
 */
function parseTarget(url: string): { origin: string; path: string } | undefined {
  const match = /^(https?:\/\/[^/?#]{1,300})(.*)$/.exec(url);
  return match ? { origin: match[1] as string, path: match[2] as string } : undefined;
}

/** The whole body as UTF-8; undefined when it is longer than `maxBytes` or is not UTF-8. */
async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  const bytes = await gatherBody(body, maxBytes);
  return bytes === undefined ? undefined : decodeUtf8(bytes);
}

/** Exactly what is there: a byte order mark stays, and makes it no JSON. */
function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
