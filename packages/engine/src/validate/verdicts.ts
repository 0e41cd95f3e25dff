import type { CellClass, CheckId, Finding, Json } from '@glovebox/contract';
import { bundleKey } from '../build-node.ts';
import type { CheckCache, LockedPackage, NodePackage, PackagePolicy } from '../ports.ts';
import { sha256 } from '../sha256.ts';
import type { CheckEnd } from './checklist.ts';
import { judgingCode } from './judging-code.ts';

/** What tsc may read of a package; upper and lower case are one here, as where files that suppress types are looked for. */
const typed = /\.(?:[cm]?[jt]sx?|json)$/i;

/**
 * A key of everything that decides a verdict: the check and the code that judges here, the bytes that it looks at, what
 * they are locked to, and the image that it is done in, by which what runs in cells is known.
 */
function verdictKey(check: 'static' | CellCheck, code: string, decisive: Json): string {
  return sha256(JSON.stringify(['glovebox.verdict/2', check, code, decisive])).slice('sha256:'.length);
}

/**
 * Package, manifest and lockfile in one: they are read together. The policy is in it, so that a pass that is shown as known
 * was one under this policy; ages are looked at each time.
 */
export const staticKey = (
  revision: string,
  registries: readonly string[],
  { minimumAgeMs }: PackagePolicy,
  code = judgingCode(),
): string => verdictKey('static', code, [revision, [...registries], process.arch, minimumAgeMs ?? null]);

export const typesKey = (pkg: NodePackage, image: string, code = judgingCode()): string =>
  verdictKey('types', code, [fileList(pkg.files, (path) => typed.test(path)), lockedList(pkg), image]);

/** Tests may read any file. What author code comes to can depend on the kernel that its cell has. */
export const testsKey = (pkg: NodePackage, image: string, cellClass: CellClass, code = judgingCode()): string =>
  verdictKey('tests', code, [pkg.revision, lockedList(pkg), image, cellClass]);

/** @param image the builder image. */
export const buildVerdictKey = (pkg: NodePackage, image: string, code = judgingCode()): string =>
  verdictKey('build', code, [bundleKey(pkg, image)]);

/** @param image the runtime image. */
export const fixturesKey = (
  pkg: NodePackage,
  bundleDigest: string,
  image: string,
  cellClass: CellClass,
  code = judgingCode(),
): string => verdictKey('fixtures', code, [fileList(pkg.files, decidesFixtures), bundleDigest, image, cellClass]);

const decidesFixtures = (path: string): boolean => path === 'node.json' || path.startsWith('fixtures/');

function fileList(files: ReadonlyMap<string, Uint8Array>, has: (path: string) => boolean): Json {
  return [...files].filter(([path]) => has(path)).map(([path, bytes]) => [path, sha256(bytes)]);
}

function lockedList({ dependencies, devDependencies }: NodePackage): Json {
  const described = (list: LockedPackage[]): Json =>
    list.map(({ path, name, version, integrity }) => [path, name, version, integrity]);
  return [described(dependencies), described(devDependencies)];
}

/** A verdict of an earlier validation; undefined when there is none. */
export async function findVerdict(cache: CheckCache, key: string): Promise<CheckEnd | undefined> {
  const text = await cache.get(key);
  if (text === undefined) return undefined;
  const { findings, facts } = JSON.parse(text) as { findings: Finding[]; facts: Record<string, Json> };
  return { state: 'passed', findings, facts, cached: true };
}

/** Keep a pass. A failure may be the host's mood, and whoever looks again wants to see it tried again. */
export async function keepVerdict(cache: CheckCache, key: string, end: CheckEnd): Promise<void> {
  if (end.state !== 'passed' || end.cached) return;
  await cache.put(key, JSON.stringify({ findings: end.findings, facts: end.facts }));
}

/** Checks that boot cells, in the order in which they are shown. */
export const cellChecks = ['types', 'build', 'tests', 'fixtures'] as const satisfies readonly CheckId[];
type CellCheck = (typeof cellChecks)[number];
