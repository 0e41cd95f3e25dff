import type { ServerStream } from '@glovebox/channel';
import {
  type BuildInput,
  controlAuthority,
  GloveboxError,
  gatherBody,
  parseJson,
  type UnpackReport,
  unpackReportSchema,
} from '@glovebox/contract';
import { buildControlPaths, buildLimits } from '@glovebox/contract/build-limits';
import type { LockedPackage } from '../ports.ts';

export interface BuildInputs {
  files: ReadonlyMap<string, Uint8Array>;
  packages: readonly InputPackage[];
}

export interface InputPackage extends LockedPackage {
  use: 'node' | 'development';
  bytes: Uint8Array;
}

/** Answers a request that comes after the report. @throws GloveboxError for one that must not come. */
export type ServeMore = (stream: ServerStream) => Promise<void>;

/**
 * The host's side of a builder cell's two requests: it sends the inputs once and takes one report.
 *
 * A builder of ours makes each request once, in this order. Anything else comes from a cell that something has gone wrong
 * in, and is reported as such.
 */
export class BuildChannel {
  readonly #inputs: BuildInputs;
  readonly #report = Promise.withResolvers<UnpackReport>();
  readonly #more: ServeMore | undefined;
  #phase: 'booting' | 'sending' | 'reported' = 'booting';

  constructor(inputs: BuildInputs, more?: ServeMore) {
    this.#inputs = inputs;
    this.#more = more;
    // Who awaits the report may have left already.
    this.#report.promise.catch(() => {});
  }

  /** How far the builder has come. */
  get phase(): 'booting' | 'sending' | 'reported' {
    return this.#phase;
  }

  /** Rejects with GloveboxError `CHANNEL_CORRUPTED` when the builder does what it must not. */
  get report(): Promise<UnpackReport> {
    return this.#report.promise;
  }

  /** Take one request. Never throws. */
  accept(stream: ServerStream): void {
    this.#route(stream).catch((error: unknown) => {
      stream.reset('refused');
      // A stream that breaks is a cell that dies; its end tells more.
      if (GloveboxError.is(error)) this.#report.reject(error);
    });
  }

  async #route(stream: ServerStream): Promise<void> {
    const route = `${stream.head.method} ${stream.head.url}`;
    const base = `http://${controlAuthority}`;
    if (route === `GET ${base}${buildControlPaths.inputs}` && this.#phase === 'booting') {
      this.#phase = 'sending';
      return this.#send(stream);
    }
    if (route === `POST ${base}${buildControlPaths.unpacked}` && this.#phase === 'sending') {
      this.#phase = 'reported';
      return this.#take(stream);
    }
    if (this.#phase === 'reported' && this.#more !== undefined) return this.#more(stream);
    throw corrupted('it made a request that is not expected of it');
  }

  async #send(stream: ServerStream): Promise<void> {
    stream.respond({ status: 200, headers: {} });
    for (const [path, bytes] of this.#inputs.files) {
      await sendRecord(stream, { kind: 'file', path, sizeBytes: bytes.byteLength }, bytes);
    }
    for (const { path, name, version, use, bytes } of this.#inputs.packages) {
      await sendRecord(stream, { kind: 'package', path, name, version, use, sizeBytes: bytes.byteLength }, bytes);
    }
    await sendRecord(stream, { kind: 'end' });
    stream.end();
  }

  async #take(stream: ServerStream): Promise<void> {
    const body = await gatherBody(stream.body, buildLimits.reportBytes);
    if (body === undefined) throw corrupted('its report is too long');
    const parsed = parseJson(body.toString('utf8'), { maxBytes: buildLimits.reportBytes, maxDepth: 8 });
    const report = parsed.ok ? unpackReportSchema.safeParse(parsed.value) : undefined;
    if (!report?.success) throw corrupted('its report has a wrong shape');
    stream.respond({ status: report.data.findings.length === 0 ? 204 : 409, headers: {} });
    stream.end();
    this.#report.resolve(report.data);
  }
}

async function sendRecord(stream: ServerStream, input: BuildInput, bytes?: Uint8Array): Promise<void> {
  const header = Buffer.from(JSON.stringify(input));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  await stream.write(Buffer.concat([length, header]));
  if (bytes !== undefined && bytes.byteLength > 0) await stream.write(bytes);
}

export function corrupted(what: string): GloveboxError {
  return new GloveboxError('CHANNEL_CORRUPTED', { message: `The builder cell was stopped: ${what}.` });
}
