import { testControlPaths } from '@glovebox/contract/build-limits';
import { mayBeTested } from './builder/kept-files.ts';
import { SourceTree } from './builder/source-tree.ts';
import { unpackInputs } from './builder/unpacking.ts';
import { authorFds, CellChannel } from './harness/cell-channel.ts';
import { Control } from './harness/control.ts';
import { pinProcessEvents } from './harness/guards.ts';
import { seedChance } from './tester/chance.ts';
import { startClock } from './tester/clock.ts';
import { fetchTestJob } from './tester/job.ts';
import { encodeResult } from './tester/result.ts';
import { offerSdk } from './tester/sdk.ts';
import { runTests } from './tester/test-run.ts';
import { readTree } from './tester/tree.ts';

/**
 * The first and only process of a tests cell: it unpacks the package over the channel, runs its tests by `node:test` in
 * this very process, tells what came of them, and waits to be killed.
 *
 * Author code shares the process, so what is told is its word. What guards the telling against accidents and plain tricks:
 * the channel is reached by nothing but closures here, built-ins are primordials, and the result bears the job's nonce.
 * What a test prints goes to fds 1 and 2, which say nothing to anybody.
 */

const treePath = '/tmp/src-tree';

async function runCell(exitNow: (code: number) => never): Promise<void> {
  const channel = new CellChannel(authorFds());
  // Nobody is left to tell anything to.
  channel.client.ended.then(() => exitNow(1));

  const proceed = await channel.block(unpackInputs(channel.client, new SourceTree(treePath, mayBeTested)));
  if (!proceed) channel.blockForEver(exitNow);
  const control = new Control(channel.client);
  const job = await channel.block(fetchTestJob(control));

  // Where tests stand when their author runs them: paths in them are relative to the package.
  process.chdir(treePath);
  pinProcessEvents();
  offerSdk();
  seedChance(job.seed);
  startClock(job.startMs);
  runTests(treePath, job.files, (run): never => {
    control.send('POST', testControlPaths.result, encodeResult(job.nonce, run, readTree(treePath)));
    return channel.blockForEver(exitNow);
  });
}

// Taken before author code could put another in its place.
const exitNow = (process as unknown as { reallyExit: (code: number) => never }).reallyExit.bind(process);
runCell(exitNow).catch((error: unknown) => {
  // No author code has run, so this is a defect of ours or of the host's: it reads this on the cell's fd 2.
  process.getBuiltinModule('node:fs').writeSync(2, `glovebox tester: ${(error as Error).stack}\n`);
  exitNow(70);
});
