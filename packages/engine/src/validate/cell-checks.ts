import type { CellDriver } from '@glovebox/cell';
import type { CheckId, Digest } from '@glovebox/contract';
import type { Tarball } from '../bundle/restore-dependencies.ts';
import type { Engine } from '../engine.ts';
import type { NodePackage } from '../ports.ts';
import { type CheckedBuild, checkBuild, findBuild } from './check-build.ts';
import { checkFixtures } from './check-fixtures.ts';
import { checkTests } from './check-tests.ts';
import { checkTypes } from './check-types.ts';
import type { CheckEnd, Checklist } from './checklist.ts';
import { limitCells } from './limited-driver.ts';
import type { CheckOutcome } from './outcome.ts';
import type { SharedJudge } from './shared-judge.ts';
import { buildVerdictKey, findVerdict, fixturesKey, keepVerdict, testsKey, typesKey } from './verdicts.ts';

/** What the checks that boot cells are about, and do it with. */
export interface CellWork {
  engine: Engine;
  project: string;
  pkg: NodePackage;
  images: { runtime: Digest; builder: Digest };
  known: Known;
  /** Of everything that the lockfile names; undefined where it could not be had, or nothing needs it. */
  tarballs: Tarball[] | undefined;
  judge: SharedJudge;
  checklist: Checklist;
  signal: AbortSignal | undefined;
}

/** Verdicts of earlier validations. That of the fixtures hangs on the bundle and is looked for later. */
export interface Known {
  types: CheckEnd | undefined;
  tests: CheckEnd | undefined;
  build: CheckedBuild | undefined;
}

export async function findKnown(engine: Engine, pkg: NodePackage, images: CellWork['images']): Promise<Known> {
  const [types, tests, build] = await Promise.all([
    findVerdict(engine.checks, typesKey(pkg, images.builder)),
    findVerdict(engine.checks, testsKey(pkg, images.builder, engine.cellClass)),
    findBuild(engine, pkg, images.builder),
  ]);
  return { types, tests, build };
}

/** Whether a verdict is missing that only a cell can give. */
export async function needsCells(
  engine: Engine,
  pkg: NodePackage,
  images: CellWork['images'],
  { types, tests, build }: Known,
): Promise<boolean> {
  if (types === undefined || tests === undefined || build?.built === undefined) return true;
  return (
    (await findVerdict(engine.checks, fixturesKey(pkg, build.built.bundleDigest, images.runtime, engine.cellClass))) ===
    undefined
  );
}

/** Perform types, tests, and build with fixtures, side by side. @returns what was built. */
export async function performCellChecks(work: CellWork): Promise<CheckedBuild['built']> {
  const { pkg, images, known, signal } = work;
  const { cellClass } = work.engine;
  const driver = limitCells(work.engine.driver, work.engine.checkTurns.cells);
  const options = { driver, cellClass, image: images.builder, ...(signal === undefined ? {} : { signal }) };
  // All are waited for, whatever one of them comes to: no cell outlives the call.
  const [built, ...others] = await Promise.allSettled([
    buildAndRun(work, driver),
    performUnpacked(work, 'types', known.types, typesKey(pkg, images.builder), (tarballs) =>
      checkTypes({ pkg, tarballs }, options),
    ),
    performUnpacked(work, 'tests', known.tests, testsKey(pkg, images.builder, cellClass), (tarballs) =>
      checkTests({ pkg, tarballs }, options),
    ),
  ]);
  for (const other of others) if (other.status === 'rejected') throw other.reason;
  if (built.status === 'rejected') throw built.reason;
  return built.value;
}

/** A check over the unpacked package, unless its verdict is known. */
async function performUnpacked(
  { engine, tarballs, checklist }: CellWork,
  check: CheckId,
  known: CheckEnd | undefined,
  key: string,
  body: (tarballs: Tarball[]) => Promise<CheckOutcome>,
): Promise<void> {
  if (known !== undefined) await checklist.perform(check, async () => known);
  else if (tarballs === undefined) checklist.skip(check);
  else {
    await checklist.perform(check, async () => {
      const end = await body(tarballs);
      await keepVerdict(engine.checks, key, end);
      return end;
    });
  }
}

async function buildAndRun(work: CellWork, driver: CellDriver): Promise<CheckedBuild['built']> {
  const built = await performBuild(work, driver);
  if (built === undefined) work.checklist.skip('fixtures');
  else await performFixtures(work, driver, built);
  return built;
}

async function performBuild(work: CellWork, driver: CellDriver): Promise<CheckedBuild['built']> {
  const { engine, pkg, images, known, tarballs, checklist, signal } = work;
  let built = known.build?.built;
  if (known.build === undefined && tarballs === undefined) {
    checklist.skip('build');
    return undefined;
  }
  await checklist.perform('build', async () => {
    if (known.build !== undefined) return known.build.end;
    const { bundles, cellClass } = engine;
    const options = { driver, cellClass, image: images.builder, bundles, ...(signal === undefined ? {} : { signal }) };
    const checked = await checkBuild({ pkg, tarballs: tarballs ?? [] }, options);
    built = checked.built;
    await keepVerdict(engine.checks, buildVerdictKey(pkg, images.builder), checked.end);
    return checked.end;
  });
  return built;
}

async function performFixtures(
  { engine, project, pkg, images, judge, checklist, signal }: CellWork,
  driver: CellDriver,
  { bundle, bundleDigest, sourceMap }: NonNullable<CheckedBuild['built']>,
): Promise<void> {
  const key = fixturesKey(pkg, bundleDigest, images.runtime, engine.cellClass);
  const known = await findVerdict(engine.checks, key);
  const { cellClass, now, monotonicMs, bootMs } = engine;
  await checklist.perform('fixtures', async () => {
    if (known !== undefined) return known;
    const end = await checkFixtures(
      { project, pkg, bundle, bundleDigest, sourceMap },
      {
        driver,
        cellClass,
        image: images.runtime,
        judge: judge.of(pkg.manifest),
        now,
        monotonicMs,
        bootMs,
        ...(signal === undefined ? {} : { signal }),
      },
    );
    await keepVerdict(engine.checks, key, end);
    return end;
  });
}
