import type { Finding } from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import type { LockedPackage, NodePackage } from '../ports.ts';
import type { BuildInputs } from './build-channel.ts';

/** The one package that no lockfile can give another meaning. */
export const sdkName = '@glovebox/sdk';

/** A node package with the archives of packages that a builder cell is to have. */
export interface PackageWithArchives {
  pkg: Pick<NodePackage, 'files' | 'dependencies'>;
  /** Those of `pkg.dependencies`, and where it says so of `devDependencies`. */
  tarballs: readonly (LockedPackage & { bytes: Uint8Array })[];
}

/** What a cell gets. An archive that is not in `pkg.dependencies` is there for development alone. */
export function inputsOf({ pkg, tarballs }: PackageWithArchives): BuildInputs {
  const paths = new Set(pkg.dependencies.map(({ path }) => path));
  return {
    files: pkg.files,
    packages: tarballs.map((tarball) => ({ ...tarball, use: paths.has(tarball.path) ? 'node' : 'development' })),
  };
}

/** What can be said before a cell is booted: limits, and packages that stand in for what is not theirs. */
export function checkInputs({ pkg, tarballs }: PackageWithArchives): Finding[] {
  const findings: Finding[] = [];
  let authorBytes = 0;
  for (const bytes of pkg.files.values()) authorBytes += bytes.byteLength;
  if (pkg.files.size > buildLimits.authorFiles || authorBytes > buildLimits.authorBytes) {
    findings.push(
      refuse('PACKAGE_TOO_LARGE', `The package has ${pkg.files.size} files with ${authorBytes} bytes.`, 'package.json'),
    );
  }
  findings.push(...checkTree(tarballs));
  let archivesBytes = 0;
  for (const { path, bytes } of tarballs) {
    archivesBytes += bytes.byteLength;
    if (bytes.byteLength > buildLimits.archiveBytes) {
      findings.push(
        refuse(
          'ARCHIVE_REFUSED',
          `The archive has ${bytes.byteLength} bytes; the limit is ${buildLimits.archiveBytes}.`,
          path,
        ),
      );
    }
  }
  if (archivesBytes > buildLimits.archivesBytes) findings.push(tooMuch(archivesBytes));
  return findings;
}

/** The same for what is known without the archives. */
export function checkTree(locked: readonly LockedPackage[]): Finding[] {
  const findings: Finding[] = [];
  if (locked.length > buildLimits.packages) {
    findings.push(
      refuse(
        'DEPENDENCY_REFUSED',
        `There are ${locked.length} dependencies; the limit is ${buildLimits.packages}.`,
        'package-lock.json',
      ),
    );
  }
  for (const { path, name } of locked) {
    // The SDK is part of the toolchain: a package of its name could only pretend to be it.
    if (name === sdkName || path.endsWith(`node_modules/${sdkName}`)) {
      findings.push(refuse('DEPENDENCY_REFUSED', `${sdkName} comes with Glovebox and cannot be a dependency.`, path));
    }
  }
  return findings;
}

export function tooMuch(archivesBytes: number): Finding {
  return refuse(
    'DEPENDENCY_REFUSED',
    `The dependencies have ${archivesBytes} bytes or more as archives; the limit is ${buildLimits.archivesBytes}.`,
    'package-lock.json',
  );
}

function refuse(rule: Finding['rule'], message: string, file: string): Finding {
  return { rule, severity: 'error', message, hint: 'Use fewer or smaller dependencies.', place: { file } };
}
