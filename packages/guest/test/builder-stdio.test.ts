import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { type BuilderStreams, builderStreams } from '@glovebox/cell';
import { type ChannelServer, serveChannel } from '@glovebox/channel';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { builderProgram } from '../../../test/support/bare-builder.ts';
import { answer, bytes } from './host.ts';
import { makePipes } from './pipes.ts';

const home = mkdtempSync(join(tmpdir(), 'builder-stdio-'));
let program: string;
beforeAll(() => {
  program = builderProgram(home);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** In place of esbuild: tells what it has been left, then says what it is told. */
const tool = join(home, 'tool');
writeFileSync(tool, '#!/bin/sh\nls /proc/$$/fd; grep flags /proc/$$/fdinfo/[012]; echo ---; exec cat\n');
chmodSync(tool, 0o755);

interface Running extends BuilderStreams {
  child: ChildProcess;
  /** To fd 0, past all order. */
  input: Writable;
  server: ChannelServer;
  stderr: () => string;
}

const record = (header: object, content: Uint8Array = Buffer.alloc(0)): Buffer => {
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, content]);
};

/** A builder on two pipes, with a host that sends `file` and takes the report. */
function build(marker: string, file: Buffer, onReport: (running: Running) => number = () => 204): Running {
  const pipes = makePipes();
  const args = [program, '--tree', join(home, 'tree'), '--esbuild', tool, `stdio=${marker}`];
  rmSync(join(home, 'tree'), { recursive: true, force: true });
  const child = spawn(process.execPath, args, { stdio: [...pipes.fds, 'pipe'], env: { PATH: '/usr/bin:/bin' } });
  pipes.closeChildsEnds();
  let stderr = '';
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  const streams = builderStreams(pipes.input, pipes.output, Buffer.from(marker));
  const server = serveChannel(streams.channel, async (stream) => {
    if (stream.head.method === 'GET') {
      stream.respond({ status: 200, headers: {} });
      await stream.write(record({ kind: 'file', path: 'src/index.ts', sizeBytes: file.length }, file));
      await stream.write(record({ kind: 'end' }));
      stream.end();
      return;
    }
    expect(JSON.parse(String(await bytes(stream.body)))).toMatchObject({ findings: [] });
    await answer(stream, onReport(running));
  });
  const running: Running = { ...streams, child, input: pipes.input, server, stderr: () => stderr };
  return running;
}

const marker = '5f0c6a1e5f0c6a1f5f0c6a1e5f0c6a20';

it('becomes the tool with fds 0 and 1 as they were, and nothing else, and gives it its bytes alone', async () => {
  const file = Buffer.alloc(3_000_000, 'x');
  const running = build(marker, file, ({ server }) => {
    // On its way when the builder closes its end.
    void server.ping().catch(() => {});
    return 204;
  });
  const forTool = Buffer.alloc(500_000, 'tool ');
  running.stdin.end(forTool);
  const said = (await bytes(running.stdout)).toString();
  expect(await running.server.ended).toEqual({ kind: 'closed' });
  const [about = '', ...rest] = said.split('---\n');
  expect(about.match(/^\d+$/gm)?.filter((fd) => Number(fd) < 10)).toEqual(['0', '1', '2']);
  // Octal, and 04000 is O_NONBLOCK.
  const flags = [...about.matchAll(/flags:\s+(\d+)/g)].map(([, octal]) => Number.parseInt(octal ?? '', 8));
  expect(flags.slice(0, 2).map((one) => one & 0o4003)).toEqual([0, 1]);
  expect(rest.join('---\n')).toBe(forTool.toString());
  expect(readFileSync(join(home, 'tree/src/index.ts')).equals(file)).toBe(true);
  expect(running.stderr()).toBe('');
});

it.each([
  ['aabaab', 'aabaaaba'],
  ['aabaab', 'aaba'],
  [marker, marker.slice(0, 31)],
  [marker, '\0\x01\xff'],
])('drops what comes before the marker %s, though it is %j, and takes no byte after it', async (mark, late) => {
  const running = build(mark, Buffer.from('x'), ({ input }) => {
    // After the answer, and before what builderStreams sends: its order is that of the writes.
    setImmediate(() => input.write(Buffer.from(late, 'latin1')));
    return 204;
  });
  running.stdin.end('tool');
  const said = (await bytes(running.stdout)).toString();
  expect(said.split('---\n')[1]).toBe('tool');
});

it('ends without a marker when the host wants no tool', async () => {
  const running = build(marker, Buffer.from('x'), () => 409);
  running.stdin.on('error', () => {});
  const [[code], said] = await Promise.all([once(running.child, 'close'), bytes(running.stdout)]);
  expect({ code, said: said.toString(), stderr: running.stderr() }).toEqual({ code: 0, said: '', stderr: '' });
  expect(await running.server.ended).toEqual({ kind: 'closed' });
});

it.each([
  ['lets the channel go before the report', ({ channel }: Running) => channel.destroy()],
  ['ends fd 0 before it is the turn of the tool', ({ input }: Running) => input.end()],
])('does not become the tool when the host %s', async (_, deed) => {
  const running = build(marker, Buffer.from('x'), (it) => {
    deed(it);
    return 204;
  });
  running.channel.on('error', () => {});
  running.stdout.on('error', () => {});
  const [code] = (await once(running.child, 'close')) as [number];
  expect(code).toBe(1);
});
