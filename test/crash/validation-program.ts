/**
 * Validates a draft in a process that dies of SIGKILL: just before its nth call of a store or of the signer, or while its
 * cells are at work: `validation-program.ts <data directory> <id> <n | cells>`.
 */
import { type CheckEvent, validateDraft } from '@glovebox/engine';
import { defaultCells, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { sharedImages } from '../support/engine.ts';
import { killAtNthCall } from '../support/kill-at-nth-call.ts';
import { actor } from '../support/validation.ts';

const [dataDir = '', id = '', when = ''] = process.argv.slice(2);
const config = {
  dataDir,
  ...defaultCells,
  registry: undefined,
  minimumPackageAgeMs: undefined,
  extraCa: process.env.GLOVEBOX_EXTRA_CA,
};
const { engine, close } = await openLocalEngine(config, {}, { imagesDir: sharedImages });
const onCheck = (event: CheckEvent): void => {
  if (when === 'cells' && event.kind === 'started' && event.check === 'tests')
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 400);
};
const mortal = when === 'cells' ? engine : killAtNthCall(engine, Number(when));
await validateDraft(mortal, { project: 'default', id, actor }, { onCheck });
await close();
