import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keepUnread, type Outcome, pourOut } from './join-streams.ts';

const home = mkdtempSync(join(tmpdir(), 'glovebox-join-'));
const path = join(home, 'socket');
const server = createServer({ allowHalfOpen: true });
beforeAll(() => new Promise<void>((resolve) => server.listen(path, resolve)));
afterAll(() => {
  server.close();
  rmSync(home, { recursive: true, force: true });
});

async function pair(): Promise<{ ours: Socket; theirs: Socket; read(): Promise<string> }> {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const theirs = connect(path);
  const [ours] = await accepted;
  const read = async (): Promise<string> => {
    let text = '';
    for await (const chunk of theirs) text += String(chunk);
    return text;
  };
  return { ours, theirs, read };
}

it('is drained where a source comes to its end, and cut where it is torn down', async () => {
  const outcomes: Outcome[] = [];
  for (const end of ['ended', 'torn down'] as const) {
    const { ours, read } = await pair();
    const from = new PassThrough();
    pourOut(from, ours, (outcome) => outcomes.push(outcome));
    from.write('some');
    if (end === 'ended') from.end();
    else setImmediate(() => from.destroy());
    expect(await read().catch(() => 'some')).toBe('some');
    ours.destroy();
  }
  expect(outcomes).toEqual(['drained', 'cut']);
});

it('closes a source for whom the client has gone before it was joined, and tells nothing of it', async () => {
  const { ours, theirs } = await pair();
  theirs.destroy();
  ours.resume();
  ours.destroy();
  await once(ours, 'close');
  const from = new PassThrough();
  const outcomes: Outcome[] = [];
  keepUnread(from);
  pourOut(from, ours, (outcome) => outcomes.push(outcome));
  expect(from.destroyed).toBe(true);
  expect(outcomes).toEqual([]);
});
