/** The client in a process of its own, with the channel on fd 3 as in a cell. The first argument says what it does. */
import { createHash } from 'node:crypto';
import net from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type ChannelClient, connectClient, type RequestHead } from '../../src/index.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const post = (path: string): RequestHead => ({ method: 'POST', url: `http://control.invalid${path}`, headers: {} });
const socket = new net.Socket({ fd: 3 });

const roles: { [name: string]: () => Promise<unknown> } = {
  /** Sends `2 MiB × n` on three streams at once, echoes what it gets, and tells digests. */
  async echo() {
    const client = connectClient(socket);
    const digests = await Promise.all([1, 2, 3].map((n) => echo(client, Buffer.alloc(2 * 1024 * 1024 * n, n))));
    client.close();
    return { digests, end: await client.ended };
  },

  /** Half of a frame, and gone. */
  async half() {
    const client = connectClient(socket);
    const stream = client.open(post('/log'));
    await stream.write(Buffer.from('whole'));
    const header = Buffer.from([0, 0, 16, 0, 4, 0, 0, 0, 0, 0, 0, 1, 0x41, 0x41]);
    socket.write(header, () => process.kill(process.pid, 'SIGKILL'));
    await new Promise(() => {});
  },

  /** Asks for something endless and never reads it. */
  async idle() {
    const client = connectClient(socket);
    const stream = client.open({ ...post('/endless'), method: 'GET' });
    stream.end();
    await stream.response;
    await client.ended;
  },

  /** Sends 64 MiB to who reads slowly; tells how far its memory grew meanwhile. */
  async upload() {
    const client = connectClient(socket);
    const stream = client.open(post('/slow'));
    const chunk = Buffer.alloc(256 * 1024, 1);
    await stream.write(chunk);
    const before = process.memoryUsage().rss;
    let most = 0;
    for (let i = 1; i < 256; i++) {
      await stream.write(Buffer.from(chunk));
      // What nobody holds any more is no memory that the channel takes.
      if (i % 16 === 0) collectGarbage();
      most = Math.max(most, process.memoryUsage().rss - before);
    }
    stream.end();
    const { status } = await stream.response;
    client.close();
    return { status, grownBytes: most };
  },

  /** Waits for a cancel, and answers a request that it has open with a reset. */
  async cancel() {
    const client = connectClient(socket);
    const cancel = client.open({ ...post('/cancel'), method: 'GET' });
    cancel.end();
    const other = client.open({ ...post('/endless'), method: 'GET' });
    other.end();
    await other.response;
    await cancel.response;
    let text = '';
    for await (const chunk of cancel.body) text += Buffer.from(chunk).toString();
    other.reset('cancelled');
    const failed = await (async () => {
      for await (const _ of other.body);
    })().then(
      () => 'no',
      (error: { code: string }) => error.code,
    );
    await client.ended;
    return { text, failed };
  },

  /** Logs a line, flushes, and never yields again. */
  async spin() {
    const client = connectClient(socket);
    const warm = client.open(post('/warm'));
    warm.end();
    await warm.response;
    const stream = client.open(post('/log'));
    void stream.write(Buffer.from('last words'));
    client.flush();
    for (;;);
  },

  /** Writes to the channel's descriptor behind its back. */
  async stray() {
    const client = connectClient(socket);
    const stream = client.open(post('/log'));
    stream.end();
    await stream.response;
    socket.write('a stray line\n');
    return client.ended;
  },
};

async function echo(client: ChannelClient, payload: Buffer): Promise<string> {
  const stream = client.open(post('/echo'));
  const sending = (async () => {
    for (let at = 0; at < payload.length; at += 100_000) await stream.write(payload.subarray(at, at + 100_000));
    stream.end();
  })();
  const hash = createHash('sha256');
  for await (const chunk of stream.body) hash.update(chunk);
  await sending;
  return hash.digest('hex');
}

const role = roles[process.argv[2] ?? ''];
if (!role) throw new Error('no such role');
process.stdout.write(JSON.stringify(await role()) ?? 'null');
process.exit(0);
