import { Attempt } from './harness/attempt.ts';
import { fetchBundle } from './harness/bundle-loader.ts';
import { authorFds, CellChannel } from './harness/cell-channel.ts';
import { Control } from './harness/control.ts';
import { announceExit, pinProcessEvents, refuseCodeFromStrings } from './harness/guards.ts';
import { captureOutput } from './harness/output-capture.ts';
import { monotonicMs } from './harness/primordials.ts';
import { prepareNetwork } from './net/network.ts';

/**
 * The first and only process of a run cell: asks the host for its job and the bundle, runs the handler once, tells the
 * result, and waits to be killed. It holds no secret and no token; the channel is its identity.
 */
async function runCell(exitNow: (code: number) => never): Promise<void> {
  const channel = new CellChannel(authorFds());
  // Nobody is left to tell anything to.
  channel.client.ended.then(() => exitNow(1));

  const control = new Control(channel.client);
  const job = await channel.block(control.job());
  const arrivedMs = monotonicMs();
  const network = prepareNetwork(channel, job.http ? 'open' : 'closed');
  const attempt = new Attempt({ channel, control, job, arrivedMs, network, exitNow });
  const bundle = await channel.block(fetchBundle(control, job.bundle));

  pinProcessEvents();
  refuseCodeFromStrings();
  const flushOutput = captureOutput((source, level, message) => attempt.log.write(source, level, message));
  announceExit((code) => attempt.exited(code));
  process.addUncaughtExceptionCaptureCallback((thrown) => {
    attempt.fail(thrown);
    return true;
  });
  process.on('unhandledRejection', (reason) => attempt.fail(reason));
  process.on('beforeExit', () => attempt.drained());
  attempt.load(bundle, flushOutput);
}

// Taken before author code could put another in its place.
const exitNow = (process as unknown as { reallyExit: (code: number) => never }).reallyExit.bind(process);
runCell(exitNow).catch((error: unknown) => {
  // No author code has run, so this is a defect of ours or of the host's: it reads this on the cell's fd 2.
  process.getBuiltinModule('node:fs').writeSync(2, `glovebox harness: ${(error as Error).stack}\n`);
  exitNow(70);
});
