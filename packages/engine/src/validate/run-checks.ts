import type { Digest } from '@glovebox/contract';
import type { Tarball } from '../bundle/restore-dependencies.ts';
import type { Engine } from '../engine.ts';
import type { NodePackage } from '../ports.ts';
import { findKnown, type Known, needsCells, performCellChecks } from './cell-checks.ts';
import type { CheckedBuild } from './check-build.ts';
import type { CheckEnd, Checklist } from './checklist.ts';
import { fetchLocked } from './fetch-locked.ts';
import { judged } from './outcome.ts';
import { packageAges } from './package-ages.ts';
import { SharedJudge } from './shared-judge.ts';
import { readStatics, type StaticReading } from './static-checks.ts';
import { cellChecks, keepVerdict } from './verdicts.ts';

/** The images that a validation works with: the same from its beginning to its end. */
export interface ValidationImages {
  runtime: Digest;
  builder: Digest;
}

export interface CheckedDraft {
  project: string;
  files: ReadonlyMap<string, Uint8Array>;
  revision: string;
}

/** What a release would be made of; there when the build has passed, whatever else has not. */
export interface CheckedPackage {
  pkg: NodePackage;
  built: NonNullable<CheckedBuild['built']>;
  /** Since when the registry says it has each locked package, by place in the tree; empty where its age is not asked for. */
  publishedAtMs: ReadonlyMap<string, number>;
}

/**
 * Perform all checks of a draft. Those that read come first, and nothing boots unless they pass; the rest goes side by
 * side, each in cells of its own, when its turn among the validations of this process comes. A check that has passed over
 * the same bytes before is not done again. How each went is in the checklist.
 *
 * Resolves only when every cell is dead. @throws what is a defect of ours.
 */
export async function runChecks(
  engine: Engine,
  draft: CheckedDraft,
  images: ValidationImages,
  checklist: Checklist,
  signal: AbortSignal | undefined,
): Promise<CheckedPackage | undefined> {
  const judge = new SharedJudge();
  try {
    const statics = await readStatics(draft, {
      checklist,
      source: engine.packages,
      policy: engine.packagePolicy,
      checks: engine.checks,
      openJudge: (manifest) => judge.of(manifest),
    });
    const aged = statics && (await askAges(engine, statics, checklist, signal));
    if (statics === undefined || aged === undefined) {
      for (const check of cellChecks) checklist.skip(check);
      return undefined;
    }
    const { pkg, key } = statics;
    const known = await findKnown(engine, pkg, images);
    const perform = async (): Promise<CheckedBuild['built']> => {
      const { end, tarballs } = await fetchWhatIsNeeded(engine, pkg, known, statics.lockfile, checklist, signal);
      await keepVerdict(engine.checks, key, end);
      return performCellChecks({
        engine,
        project: draft.project,
        pkg,
        images,
        known,
        tarballs,
        judge,
        checklist,
        signal,
      });
    };
    // With the fetching: who waits holds no archives in memory.
    const inTurn = await needsCells(engine, pkg, images, known);
    const built = inTurn ? await engine.checkTurns.take(perform, signal) : await perform();
    return built === undefined ? undefined : { pkg, built, ...aged };
  } finally {
    judge.close();
  }
}

/** Hold what is locked to the age that this host demands. @returns undefined when that has ended the lockfile check. */
async function askAges(
  { packages, packagePolicy: { minimumAgeMs }, now }: Engine,
  { pkg, lockfile }: StaticReading,
  checklist: Checklist,
  signal: AbortSignal | undefined,
): Promise<Pick<CheckedPackage, 'publishedAtMs'> | undefined> {
  if (minimumAgeMs === undefined) return { publishedAtMs: new Map() };
  let publishedAtMs: ReadonlyMap<string, number> = new Map();
  const end = await checklist.settle(async () => {
    const ages = await packageAges(pkg, packages, { minimumAgeMs, nowMs: now() }, signal);
    publishedAtMs = ages.publishedAtMs;
    return judged([...lockfile.findings, ...ages.findings], lockfile.facts);
  });
  if (end.state === 'passed') return { publishedAtMs };
  checklist.end('lockfile', end);
  return undefined;
}

/** End the lockfile check: by reading alone where nothing has to be unpacked, else by having fetched all that it names. */
async function fetchWhatIsNeeded(
  engine: Engine,
  pkg: NodePackage,
  { types, tests, build }: Known,
  lockfile: CheckEnd,
  checklist: Checklist,
  signal: AbortSignal | undefined,
): Promise<{ end: CheckEnd; tarballs: Tarball[] | undefined }> {
  let tarballs: Tarball[] | undefined;
  let end = lockfile;
  if (types === undefined || tests === undefined || build === undefined) {
    end = await checklist.settle(async () => {
      const fetched = await fetchLocked(pkg, engine.packages, signal);
      if (fetched.ok) tarballs = fetched.tarballs;
      const findings = [...lockfile.findings, ...(fetched.ok ? [] : fetched.findings)];
      return { state: fetched.ok ? 'passed' : 'failed', findings, facts: lockfile.facts };
    });
  }
  checklist.end('lockfile', end);
  return { end, tarballs };
}
