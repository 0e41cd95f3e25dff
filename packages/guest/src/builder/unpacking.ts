import type { ChannelClient } from '@glovebox/channel';
import type { UnpackReport } from '@glovebox/contract';
import { buildControlPaths } from '@glovebox/contract/build-limits';
import { readAnswer } from '../harness/control.ts';
import { readInputs } from './inputs.ts';
import type { SourceTree } from './source-tree.ts';

export const controlBase = 'http://control.invalid';

/**
 * Fetch the author's files and the archives of the dependencies, unpack them into a tree, and tell the host what was found.
 * Waits for nothing but the host's answers, so that a caller may block the process on it. Both are read to their ends: no
 * stream is open afterwards.
 *
 * @returns whether the host wants what comes next.
 */
export async function unpackInputs(client: ChannelClient, tree: SourceTree): Promise<boolean> {
  const request = client.open({ method: 'GET', url: `${controlBase}${buildControlPaths.inputs}`, headers: {} });
  request.end();
  const { status } = await request.response;
  if (status !== 200) throw new Error(`the host answered ${status} to the inputs request`);
  for await (const { input, bytes } of readInputs(request.body)) {
    if (input.kind === 'file') tree.addFile(input, bytes);
    else tree.addPackage(input, bytes);
  }
  return report(client, tree.finish());
}

async function report(client: ChannelClient, unpacked: UnpackReport): Promise<boolean> {
  const request = client.open({ method: 'POST', url: `${controlBase}${buildControlPaths.unpacked}`, headers: {} });
  void request.write(Buffer.from(JSON.stringify(unpacked)));
  request.end();
  return (await readAnswer(request)).status === 204;
}
