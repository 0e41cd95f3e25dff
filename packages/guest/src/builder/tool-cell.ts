import { type RefusesFile, SourceTree } from './source-tree.ts';
import { openToolChannel } from './tool-channel.ts';
import { unpackInputs } from './unpacking.ts';

/** A static program that works on the unpacked tree. */
export interface Tool {
  program: string;
  argv: string[];
  /** Where the inputs are unpacked to, and which files of dependencies the tool can have a use for. */
  tree: string;
  keeps: (path: string) => boolean;
  refuses?: RefusesFile;
  /** What there is to do once the tree is complete. */
  prepare?: (authorPaths: readonly string[]) => void;
}

/**
 * A tool's whole environment. Without GOMAXPROCS Go would start threads for each core of the host, and run into the
 * cell's pids limit; with GOMEMLIMIT it collects garbage before the cell's memory is used up.
 */
const environment = {
  HOME: '/tmp',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
  TZ: 'UTC',
  GOMAXPROCS: '2',
  GOMEMLIMIT: '640MiB',
};

/**
 * All that happens in a cell whose work a tool does: unpack the inputs over the channel, tell the host what was found, and
 * become the tool. No author or dependency code runs in such a cell, nothing is forked, nothing is exec'ed into it.
 *
 * Fds 0 and 1 are the tool's, whose turn comes when the channel has been left. Never returns where all goes well.
 */
export async function becomeTool(tool: Tool): Promise<void> {
  const { channel, leave } = openToolChannel(process.argv.at(-1));
  const tree = new SourceTree(tool.tree, tool.keeps, tool.refuses);
  const proceed = await channel.block(unpackInputs(channel.client, tree));
  if (!proceed) process.exit(0);
  tool.prepare?.(tree.authorFiles);
  channel.client.close();
  leave();
  // A warning that execve is experimental would be all that stderr has.
  process.removeAllListeners('warning');
  process.execve?.(tool.program, tool.argv, environment);
}
