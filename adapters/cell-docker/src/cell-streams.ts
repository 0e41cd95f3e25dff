import type { Socket } from 'node:net';
import { Duplex, Readable, type Writable } from 'node:stream';
import { builderStreams, joinStreams } from '@glovebox/cell';
import { type CellRole, GloveboxError } from '@glovebox/contract';
import type { EngineApi } from './engine-api.ts';
import type { EngineKind } from './engine-kind.ts';
import { FrameReader, type frameStreams } from './frames.ts';

/**
 * The raw connections to a container that has not started yet. Each output has one of its own: an engine stops reading
 * that output of the container when its connection is full, and no other. So a reader that stops blocks the cell where it
 * writes that output, nothing grows on the host, and the channel goes on whatever becomes of the error stream.
 */
export interface Attached {
  input: Socket;
  error: Socket;
}

/** @throws GloveboxError as the engine's API does; nothing is left open then. */
export async function attachTo(api: EngineApi, kind: EngineKind, id: string, role: CellRole): Promise<Attached> {
  const first = api.attach(id, role === 'probe' ? ['stdout'] : ['stdin', 'stdout']);
  // The first one has Podman set the container up, and a second that comes meanwhile tries the same and fails.
  if (kind === 'podman') await first;
  const [input, error] = await Promise.allSettled([first, api.attach(id, ['stderr'])]);
  if (input.status === 'fulfilled' && error.status === 'fulfilled') return { input: input.value, error: error.value };
  for (const settled of [input, error]) if (settled.status === 'fulfilled') settled.value.destroy();
  throw (input.status === 'rejected' ? input : (error as PromiseRejectedResult)).reason;
}

export function detach({ input, error }: Attached): void {
  for (const socket of [input, error]) socket.on('error', () => undefined).destroy();
}

export interface CellStreams {
  channel: Duplex;
  stdout: Readable;
  stderr: Readable;
  stdin: Writable | null;
}

export interface StreamEvents {
  /** A connection failed, or ended where it cannot have been at its end. Of a cell that was killed that means nothing. */
  onBroken(thrown: unknown): void;
  /** An output ended. That is no failure: a cell may close it. As a rule it is dying, and its cgroups are there for a moment. */
  onEnd(): void;
}

export function streamsOf(
  { input, error }: Attached,
  role: CellRole,
  marker: string,
  events: StreamEvents,
): CellStreams {
  const stdout = framesOf(input, 'stdout', events);
  const stderr = framesOf(error, 'stderr', events);
  switch (role) {
    case 'probe':
      return { channel: endedWith(input), stdout, stderr, stdin: null };
    case 'run':
    case 'tests':
      return { channel: joinStreams(input, stdout), stdout: nothing(), stderr, stdin: null };
    case 'bundle':
      return { ...builderStreams(input, stdout, Buffer.from(marker)), stderr };
    case 'types': {
      const streams = builderStreams(input, stdout, Buffer.from(marker));
      streams.stdin.end();
      return { ...streams, stderr, stdin: null };
    }
  }
}

/** What is lost of a connection ends its stream: a broken one is told by how the cell ends, and not by an error of each stream. */
function framesOf(socket: Socket, stream: keyof typeof frameStreams, { onBroken, onEnd }: StreamEvents): FrameReader {
  const reader = new FrameReader(stream);
  const fail = (thrown: unknown): void => {
    onBroken(thrown);
    reader.end();
  };
  socket.on('error', fail);
  socket.on('end', onEnd);
  socket.on('close', () => reader.end());
  reader.on('finish', () => {
    if (reader.isWithinFrame) onBroken(brokenOff('it ended within a frame'));
  });
  reader.on('error', (thrown) => {
    onBroken(thrown);
    socket.destroy();
  });
  // What nobody takes any more is let go, so that the container does not wait for it.
  reader.on('close', () => socket.resume());
  // One that failed while the container was being started has told it already, and to nobody.
  if (socket.destroyed) fail(socket.errored ?? brokenOff('it was closed before the cell ran'));
  else socket.pipe(reader);
  return reader;
}

const brokenOff = (why: string): GloveboxError =>
  new GloveboxError('ENGINE_UNREACHABLE', {
    message: `The container engine broke off a connection to a cell: ${why}.`,
  });

function nothing(): Readable {
  const empty = new Readable({ read: () => undefined });
  empty.push(null);
  return empty;
}

/** No channel at all: it ends when the cell does. */
function endedWith(socket: Socket): Duplex {
  const channel = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  if (socket.destroyed) channel.push(null);
  else socket.on('close', () => channel.push(null));
  return channel;
}
