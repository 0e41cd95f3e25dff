import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readResidue } from '../support/residue.ts';
import { holdCgroup } from '../support/stuck-cgroup.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();
const source = { body: `ctx.log.info('now'); await ctx.clock.sleep(100); return 'output';` };
const residue = () =>
  readResidue({ instance: cells().engine.signer.instance, runDirectory: join(cells().dataDir, 'run') });

it('delivers no output of a cell whose cgroup the kernel keeps, says so in the receipt, and sweeps it later', async () => {
  let release: (() => void) | undefined;
  const hold = (): void => {
    release ??= holdCgroup(residue().cgroups[0] as string);
  };
  try {
    const lost = await cells().run(source, { events: { onLog: hold } });
    expect(lost).toMatchObject({ state: 'LOST', error: { code: 'CELL_LOST' }, output: null });
    expect(lost.error?.message).toContain('could not be confirmed dead');
    const kept = await cells().engine.store.get('default', lost.run);
    const { payload } = JSON.parse(kept?.attempts[0]?.end?.receiptText ?? '{}') as { payload: string };
    const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString());
    expect(predicate.observed).toMatchObject({ state: 'LOST', errorCode: 'CELL_LOST', outputDigest: null });
    expect(residue().directories).toHaveLength(1);
    expect(residue().claims).toHaveLength(1);
  } finally {
    release?.();
  }
  expect((await cells().engine.driver.sweep()).removed).toMatchObject({ cells: 1, directories: 1, uidClaims: 1 });
  expect(await cells().run(source)).toMatchObject({ state: 'SUCCEEDED', output: 'output' });
});
