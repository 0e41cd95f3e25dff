import type { Readable, Writable } from 'node:stream';
import { GatheredBytes } from '@glovebox/contract';
import { z } from 'zod';
import { decodePacket, encodeRequest, type PacketValue } from './esbuild-protocol.ts';

/** esbuild and its callers must be of the very same version: the protocol has no other guarantee. */
export const esbuildVersion = '0.28.2';

export interface BuildRequest {
  /** Relative to the working directory. */
  entry: string;
  flags: string[];
  workingDirectory: string;
}

const text = z.string();
const bytes = z.instanceof(Uint8Array);
const location = z.looseObject({
  file: text,
  line: z.int(),
  column: z.int(),
  lineText: text,
  namespace: text.optional(),
});
const message = z.looseObject({
  id: text,
  text,
  location: location.nullable(),
  notes: z.array(z.looseObject({ text, location: location.nullable() })).optional(),
});
export type BuildMessage = z.infer<typeof message>;

const buildAnswer = z.looseObject({
  errors: z.array(message),
  warnings: z.array(message),
  outputFiles: z.array(z.looseObject({ path: text, contents: bytes })).optional(),
  metafile: bytes.optional(),
});
export type BuildAnswer = z.infer<typeof buildAnswer>;

/** How talking to the bundler can fail. `ended`: its output ended, so its cell is dying: the cell's end tells why. */
export type ServiceFailure =
  | { kind: 'ended' }
  | { kind: 'too-large'; sizeBytes: number }
  | { kind: 'garbage'; detail: string };

export type ServiceResult = { ok: true; answer: BuildAnswer } | { ok: false; failure: ServiceFailure };

/**
 * Ask an esbuild service for one build, with results in memory, and read its answer.
 *
 * What comes back is taken for hostile: it comes from a cell that has read hostile files. At most `maxPacketBytes` are held;
 * a longer answer is `too-large` as soon as its length is known, before it is read. The caller ends the cell in any case.
 *
 * Never rejects. Errors of `stdin` are the caller's to take: a cell that dies takes its pipes along.
 */
export async function requestBuild(
  stdin: Writable,
  stdout: Readable,
  request: BuildRequest,
  maxPacketBytes: number,
): Promise<ServiceResult> {
  const packets = readPackets(stdout, maxPacketBytes);
  let greeted = false;
  try {
    const greeting = await packets.next();
    if (greeting.done) return { ok: false, failure: { kind: 'ended' } };
    if (greeting.value.toString('latin1') !== esbuildVersion)
      return garbage('the service is not the esbuild that was asked for');
    greeted = true;
    stdin.write(encodeRequest(0, buildCommand(request)));
    const answer = await packets.next();
    if (answer.done) return { ok: false, failure: { kind: 'ended' } };
    return readAnswer(answer.value);
  } catch (error) {
    if (error instanceof PacketTooLarge) {
      return greeted
        ? { ok: false, failure: { kind: 'too-large', sizeBytes: error.sizeBytes } }
        : garbage('there is no service');
    }
    // A stream that breaks instead of ending means the same.
    return { ok: false, failure: { kind: 'ended' } };
  } finally {
    await packets.return(undefined);
  }
}

function buildCommand(request: BuildRequest): PacketValue {
  return {
    command: 'build',
    key: 0,
    entries: [['', request.entry]],
    flags: request.flags,
    write: false,
    stdinContents: null,
    stdinResolveDir: null,
    absWorkingDir: request.workingDirectory,
    nodePaths: [],
    context: false,
  };
}

function readAnswer(packet: Buffer): ServiceResult {
  let decoded: ReturnType<typeof decodePacket>;
  try {
    decoded = decodePacket(packet);
  } catch (error) {
    return garbage(error instanceof Error ? error.message : String(error));
  }
  if (!decoded.isResponse || decoded.id !== 0) return garbage('the service answered something that was not asked');
  const parsed = buildAnswer.safeParse(decoded.value);
  if (!parsed.success)
    return garbage(`the answer has a wrong shape at ${parsed.error.issues[0]?.path.join('.') ?? ''}`);
  return { ok: true, answer: parsed.data };
}

function garbage(detail: string): ServiceResult {
  return { ok: false, failure: { kind: 'garbage', detail: detail.slice(0, 300) } };
}

class PacketTooLarge extends Error {
  readonly sizeBytes: number;
  constructor(sizeBytes: number) {
    super('a packet is too large');
    this.sizeBytes = sizeBytes;
  }
}

/** Packets without their length. The first one is esbuild's greeting: its version, and no value. */
async function* readPackets(stdout: Readable, maxPacketBytes: number): AsyncGenerator<Buffer> {
  const gathered = new GatheredBytes();
  let wanted: number | undefined;
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    gathered.add(chunk);
    for (;;) {
      if (wanted === undefined && gathered.length >= 4) {
        wanted = gathered.take(4).readUInt32LE(0);
        if (wanted > maxPacketBytes) throw new PacketTooLarge(wanted);
      }
      if (wanted === undefined || gathered.length < wanted) break;
      yield gathered.take(wanted);
      wanted = undefined;
    }
  }
}
