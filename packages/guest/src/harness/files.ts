import type { ClientStream } from '@glovebox/channel';
import type { Job } from '@glovebox/contract';
import {
  defaultMediaType,
  type FileSource,
  fileRefusal,
  fileSource,
  isChunk,
  wrongChunk,
} from '@glovebox/sdk/context-rules';
import { type Answer, type Control, paths, readAnswer, textOfBody } from './control.ts';
import { contextError } from './guest-error.ts';
import { apply, Bytes, lengthOf, PlainPromise, parseJsonText, setBytes, startTimer, utf8Bytes } from './primordials.ts';
import { sealed, settled, whenSettled } from './promises.ts';

/** Uploads under way at once; further ones wait. The channel has 64 streams for everything. */
const maxUploads = 16;
/** Streams that uploads leave to the log and the result: those that were broken off hold theirs until the host has answered. */
const keptStreams = 2;
const roomPollMs = 1;

const refusals: { readonly [code: string]: string } = {
  FILES_NOT_DECLARED: 'node.json declares no capabilities.files',
  FILES_LIMIT: 'the files of this run are over capabilities.files',
  FILE_NAME_REFUSED: 'this run has a file of that name already',
};

/** Somebody who reads the host's answers as long as it is told to. */
interface Hold {
  hold(): void;
  release(): void;
}

interface Waiting {
  readonly start: () => void;
  next: Waiting | undefined;
}

/** `ctx.files`: streams what the node writes out to the host, as fast as the host takes it. */
export class FileWriter {
  readonly #control: Control;
  readonly #channel: Hold;
  readonly #limits: Job['limits'];
  #uploads = 0;
  #firstWaiting: Waiting | undefined;
  #lastWaiting: Waiting | undefined;

  constructor(control: Control, channel: Hold, limits: Job['limits']) {
    this.#control = control;
    this.#channel = channel;
    this.#limits = limits;
  }

  /** See `NodeFiles.write`. Rejects; never throws. */
  async write(
    name: unknown,
    data: unknown,
    mediaType: unknown = defaultMediaType,
  ): Promise<{ digest: string; sizeBytes: number }> {
    const refusal = fileRefusal(name, mediaType);
    if (refusal !== undefined) throw contextError('FILE_NAME_REFUSED', refusal);
    const source = fileSource(data);
    if (this.#limits.filesCount === 0) return this.#giveUp(source, refused('FILES_NOT_DECLARED'));
    if (this.#uploads >= maxUploads) await this.#turn();
    this.#uploads++;
    this.#channel.hold();
    try {
      while (this.#control.room <= keptStreams) await shortly();
      const answer = await sealed(this.#upload(name as string, mediaType as string, source));
      const body = parseJsonText(textOfBody(answer.body)) as { code?: string; digest: string; sizeBytes: number };
      if (answer.status >= 400) throw refused(body.code ?? 'FILES_LIMIT');
      return { digest: body.digest, sizeBytes: body.sizeBytes };
    } finally {
      this.#channel.release();
      this.#uploads--;
      this.#next();
    }
  }

  async #upload(name: string, mediaType: string, source: FileSource): Promise<Answer> {
    const stream = this.#control.open('PUT', `${paths.files}${name}`, { 'content-type': mediaType });
    let answered = false;
    const answer = settled(readAnswer(stream)) as Promise<Answer>;
    whenSettled(
      answer,
      () => {
        answered = true;
      },
      () => {
        answered = true;
      },
    );
    try {
      if (source.kind === 'chunk') await stream.write(bytesOf(source.chunk));
      else await sealed(this.#pipe(stream, source, () => answered));
    } catch (error) {
      // The host may have refused and reset the stream while we were writing: then its answer says more.
      if (!answered) {
        stream.reset('the node stopped writing the file');
        throw error;
      }
    }
    if (!answered) stream.end();
    return await answer;
  }

  async #pipe(
    stream: ClientStream,
    source: Exclude<FileSource, { kind: 'chunk' }>,
    stopped: () => boolean,
  ): Promise<void> {
    const { iterator } = source;
    for (;;) {
      const step = (
        source.kind === 'async' ? await settled(iterator.next()) : iterator.next()
      ) as IteratorResult<unknown>;
      if (typeof step !== 'object' || step === null) throw wrongChunk(step);
      if (step.done) return;
      const { value } = step;
      if (stopped() || !isChunk(value)) {
        await settled(closeIterator(iterator));
        if (stopped()) return;
        throw wrongChunk(value);
      }
      try {
        await stream.write(bytesOf(value));
      } catch (error) {
        await settled(closeIterator(iterator));
        throw error;
      }
    }
  }

  /** Refuse before anything was read, but close the stream that was given. */
  async #giveUp(source: FileSource, error: Error): Promise<never> {
    if (source.kind !== 'chunk') await settled(closeIterator(source.iterator));
    throw error;
  }

  #turn(): Promise<void> {
    return sealed(
      new PlainPromise<void>((start) => {
        const waiting: Waiting = { start, next: undefined };
        if (this.#lastWaiting) this.#lastWaiting.next = waiting;
        else this.#firstWaiting = waiting;
        this.#lastWaiting = waiting;
      }),
    );
  }

  #next(): void {
    const waiting = this.#firstWaiting;
    if (!waiting) return;
    this.#firstWaiting = waiting.next;
    if (!waiting.next) this.#lastWaiting = undefined;
    waiting.start();
  }
}

/** In a later turn of the event loop, which has read what the host said by then. */
const shortly = (): Promise<void> =>
  sealed(
    new PlainPromise<void>((resolve) => {
      startTimer(resolve, roomPollMs);
    }),
  );

/** A copy: the node may use its buffer again while the bytes wait for credit. */
function bytesOf(chunk: string | Uint8Array): Uint8Array {
  if (typeof chunk === 'string') return utf8Bytes(chunk);
  const copy = new Bytes(lengthOf(chunk));
  setBytes(copy, chunk, 0);
  return copy;
}

/** Let a generator run its `finally`, and a stream close its file. What it throws then is nobody's concern. */
function closeIterator(iterator: Iterator<unknown> | AsyncIterator<unknown>): unknown {
  try {
    const close = iterator.return;
    return typeof close === 'function' ? whenClosed(apply(close, iterator, [])) : undefined;
  } catch {
    return undefined;
  }
}

const whenClosed = (closing: unknown): Promise<void> =>
  sealed(
    new PlainPromise<void>((resolve) => {
      const done = (): void => resolve();
      whenSettled(closing, done, done);
    }),
  );

function refused(code: string): Error {
  return contextError(code, `ctx.files.write: ${refusals[code] ?? 'the host refused the file'}`);
}
