import { ownProfile } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCellBench, testImage } from '../../../test/support/cell-bench.ts';
import { type ForeignThings, makeForeignThings } from '../../../test/support/foreign-things.ts';
import {
  failingRows,
  failingWitnesses,
  lifting,
  liveCases,
  probedCases,
} from '../../../test/support/mutation-check.ts';
import { ociWeakenings } from './weakenings.ts';

const check = { image: testImage, profileOf: () => ownProfile };

/**
 * Each row of the conformance table is taken away from a real cell, and must fail, and no other row but those that are said
 * to go with it.
 *
 * @param among whether a weakened limit is held against its own witness or against all of them, which takes long.
 */
export function describeMutationCheck(runtime: 'crun' | 'runc', among: 'own-witness' | 'all-witnesses'): void {
  const bench = openCellBench({ runtime });
  let things: ForeignThings;
  beforeAll(async () => {
    things = await makeForeignThings(bench.rootfs);
  });
  afterAll(async () => {
    await things.remove();
    await bench.settle();
    bench.remove();
  });

  describe(`of a cell under ${runtime} that lacks one thing`, () => {
    it('no row fails when nothing was taken away', async () => {
      const driver = bench.open({ weakenForTest: (spec) => spec });
      expect(await failingRows(driver, check)).toEqual([]);
    });

    it.each(probedCases)(
      '$property fails or is refused by the runtime, by $weaken, and nothing else',
      async ({ property, weaken }) => {
        const { options, also = {}, refused } = ociWeakenings(things)[weaken];
        const failing = failingRows(bench.open(options), check);
        if (refused !== undefined) {
          const thrown = await failing.catch((error: unknown) => error);
          expect(thrown).toBeInstanceOf(GloveboxError);
          expect(thrown).toMatchObject({
            code: 'HOST_UNSUPPORTED',
            message: expect.stringContaining(refused[runtime]),
          });
          return;
        }
        expect(await failing).toEqual([property, ...Object.keys(also)].sort());
      },
    );

    it('every limit holds when none was lifted', async () => {
      expect(await failingWitnesses((limits) => bench.boot(limits))).toEqual([]);
    });

    it.each(liveCases)('$property is not seen, by $weaken, and nothing else', async (one) => {
      const { options, lift } = ociWeakenings(things)[one.weaken];
      const driver = bench.open(options);
      const boot = async (limits: Parameters<typeof bench.plan>[0]) => lifting(await bench.boot(limits, driver), lift);
      const cases = among === 'all-witnesses' ? liveCases : [one];
      expect(await failingWitnesses(boot, cases)).toEqual([one.property]);
    });
  });
}
