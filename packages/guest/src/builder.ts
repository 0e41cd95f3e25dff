import { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { type ChannelClient, connectClient } from '@glovebox/channel';
import type { UnpackReport } from '@glovebox/contract';
import { buildControlPaths } from '@glovebox/contract/build-limits';
import { readInputs } from './builder/inputs.ts';
import { SourceTree } from './builder/source-tree.ts';

/**
 * The first process of a builder cell. It fetches the author's files and the dependencies' archives over the channel,
 * unpacks them into one directory, tells the host what it found, and then replaces itself by esbuild, which the host
 * drives over fds 0 and 1. No author or dependency code runs in this cell, nothing is forked, nothing is exec'ed into it.
 *
 * Fds 0 and 1 are not touched here: they are esbuild's.
 */

/** In a cell there are no arguments; tests give others. */
const { values: layout } = parseArgs({
  options: {
    tree: { type: 'string', default: '/tmp/src-tree' },
    esbuild: { type: 'string', default: '/toolchain/esbuild' },
  },
});

/** esbuild refuses a service of another version than its own. */
const esbuildArguments = ['esbuild', '--service=0.28.2'];

/**
 * esbuild's whole environment. Without GOMAXPROCS Go would start threads for each core of the host, and run into the
 * cell's pids limit; with GOMEMLIMIT it collects garbage before the cell's memory is used up.
 */
const esbuildEnvironment = {
  HOME: '/tmp',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
  TZ: 'UTC',
  GOMAXPROCS: '2',
  GOMEMLIMIT: '640MiB',
};

const channelFd = 3;
const authority = 'http://control.invalid';

async function fetchTree(client: ChannelClient): Promise<UnpackReport> {
  const request = client.open({ method: 'GET', url: `${authority}${buildControlPaths.inputs}`, headers: {} });
  request.end();
  const { status } = await request.response;
  if (status !== 200) throw new Error(`the host answered ${status} to the inputs request`);
  const tree = new SourceTree(layout.tree);
  for await (const { input, bytes } of readInputs(request.body)) {
    if (input.kind === 'file') tree.addFile(input, bytes);
    else tree.addPackage(input, bytes);
  }
  return tree.finish();
}

/** @returns whether the host wants the bundle made. */
async function report(client: ChannelClient, unpacked: UnpackReport): Promise<boolean> {
  const request = client.open({ method: 'POST', url: `${authority}${buildControlPaths.unpacked}`, headers: {} });
  await request.write(Buffer.from(JSON.stringify(unpacked)));
  request.end();
  return (await request.response).status === 204;
}

async function main(): Promise<void> {
  const transport = new Socket({ fd: channelFd, readable: true, writable: true });
  const client = connectClient(transport);
  const proceed = await report(client, await fetchTree(client));
  if (!proceed) process.exit(0);
  client.close();
  await closed(transport);
  // A warning that execve is experimental would be all that stderr has.
  process.removeAllListeners('warning');
  process.execve?.(layout.esbuild, esbuildArguments, esbuildEnvironment);
}

/** esbuild must not inherit the channel. */
function closed(transport: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (transport.closed) resolve();
    else transport.once('close', () => resolve());
    transport.destroy();
  });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
