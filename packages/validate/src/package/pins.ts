import type { Edit } from '@glovebox/contract';
import type { Findings } from '../findings.ts';
import { jsonEdits, locate } from '../json/place.ts';
import { toPointer } from '../json/pointer.ts';
import { decodeUtf8 } from '../json/read.ts';
import { isSemver, type PackageJson, packageJsonFile } from './package-json.ts';

const lockfileName = 'package-lock.json';

interface Ranged {
  path: [section: string, name: string];
  range: string;
  severity: 'error' | 'warning';
  /** The version that the lockfile has. */
  version: string | undefined;
}

/**
 * Tell which dependencies package.json names by a range: what a later install takes is not what was checked here. A release
 * is refused for those of its bundle; a trial runs what the lockfile has.
 *
 * @param versions what a lockfile without errors has, by name; empty where there is none.
 */
export async function tellRanges(
  files: ReadonlyMap<string, Uint8Array>,
  pkg: PackageJson,
  versions: ReadonlyMap<string, string>,
  purpose: 'trial' | 'release',
  findings: Findings,
): Promise<void> {
  const bundled = purpose === 'release' ? 'error' : 'warning';
  const ranged: Ranged[] = [
    ...rangesOf('dependencies', pkg.dependencies, bundled, versions),
    ...rangesOf('optionalDependencies', pkg.optionalDependencies, bundled, versions),
    ...(purpose === 'release' ? rangesOf('devDependencies', pkg.devDependencies, 'warning', versions) : []),
  ];
  const text = textOf(files, packageJsonFile);
  if (ranged.length === 0 || text === undefined) return;
  const places = ranged.map(({ path }) => ({ place: { file: packageJsonFile, path: toPointer(path) } }));
  locate(
    text,
    places.map(({ place }) => ({ place, at: 'value' })),
  );
  const fixes = await pins(files, ranged, text);
  for (const [index, { path, range, severity, version }] of ranged.entries()) {
    const hint =
      version === undefined
        ? 'Write an exact version, such as 1.2.3, and run npm install --package-lock-only.'
        : `Write ${version}, which the lockfile has, and run npm install --package-lock-only.`;
    const message = `${path.join('.')}: ${JSON.stringify(range)} is not an exact version`;
    findings[severity]('PACKAGE_JSON_INVALID', message, places[index]?.place, hint, fixes[index]);
  }
}

function rangesOf(
  section: string,
  specs: ReadonlyMap<string, string>,
  severity: Ranged['severity'],
  versions: ReadonlyMap<string, string>,
): Ranged[] {
  return [...specs]
    .filter(([, range]) => !isSemver(range))
    .map(([name, range]) => ({ path: [section, name], range, severity, version: versions.get(name) }));
}

/** Of each: the version in both files, as the lockfile repeats what package.json says. */
async function pins(
  files: ReadonlyMap<string, Uint8Array>,
  ranged: readonly Ranged[],
  text: string,
): Promise<({ title: string; edits: Edit[] } | undefined)[]> {
  const lockText = textOf(files, lockfileName);
  if (lockText === undefined) return [];
  const { satisfies } = await import('../lockfile/range.ts');
  const to = ranged.map(({ path, version }) => ({ path, at: 'value' as const, json: version ?? '' }));
  const inPackage = jsonEdits(packageJsonFile, text, to);
  const inLock = jsonEdits(
    lockfileName,
    lockText,
    to.map((one) => ({ ...one, path: ['packages', '', ...one.path] })),
  );
  return ranged.map(({ version, range }, index) => {
    const edits = [inPackage[index], inLock[index]].filter((edit) => edit !== undefined);
    if (version === undefined || edits.length < 2 || !isSemver(version) || !satisfies(version, range)) return undefined;
    return { title: `Pin it to ${version}`, edits };
  });
}

function textOf(files: ReadonlyMap<string, Uint8Array>, file: string): string | undefined {
  const bytes = files.get(file);
  return bytes === undefined ? undefined : decodeUtf8(bytes);
}
