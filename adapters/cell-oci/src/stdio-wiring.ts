import { Duplex, Readable } from 'node:stream';
import { builderStreams, joinStreams } from '@glovebox/cell';
import type { CellRole } from '@glovebox/contract';
import type { Launched } from './launch.ts';

/** The streams of a cell whose runtime passes on nothing but the standard ones; see ChannelWiring. */
export function overStdio(launched: Launched, role: CellRole, marker: string): Launched {
  // It was for the launcher, which has ended.
  launched.channel.destroy();
  const { stdin, stdout } = launched;
  if (stdin === null) return { ...launched, channel: silence(stdout) };
  if (role === 'run' || role === 'tests')
    return { ...launched, channel: joinStreams(stdin, stdout), stdout: nothing(), stdin: null };
  const streams = builderStreams(stdin, stdout, Buffer.from(marker));
  if (role === 'bundle') return { ...launched, ...streams };
  streams.stdin.end();
  return { ...launched, ...streams, stdin: null };
}

function nothing(): Readable {
  const empty = new Readable({ read: () => undefined });
  empty.push(null);
  return empty;
}

/** No channel at all: it ends when the cell does. */
function silence(stdout: Readable): Duplex {
  const channel = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  stdout.once('close', () => channel.push(null));
  return channel;
}
