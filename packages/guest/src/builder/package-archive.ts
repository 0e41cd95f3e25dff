import { managerSettings } from '@glovebox/contract/build-limits';
import { gunzip } from './gunzip.ts';
import { binaryKind, isAddonName } from './magic.ts';
import { PathSet, pathProblem } from './names.ts';
import { archiveRefusal, Refusal } from './refusal.ts';
import { readTar, type TarEntry } from './tar.ts';

export interface PackageFile {
  /** Relative to the package, checked. */
  path: string;
  executable: boolean;
  bytes: Buffer;
}

export interface UnpackedPackage {
  files: PackageFile[];
  /** Entries of the archive, directories included. */
  entries: number;
  /** Everything that is refused in it beyond its form: native code, unlocked packages. */
  refusals: Refusal[];
  webAssembly: string[];
  /** Settings of package managers. */
  settings: string[];
}

/**
 * The files of a package archive as npm would unpack it: the first component of each path, whatever it is called, is the
 * package itself. Nothing is written here: an archive is refused as a whole or taken as a whole.
 *
 * @throws Refusal `ARCHIVE_REFUSED`, naming the entry.
 */
export function readPackageArchive(archive: Buffer): UnpackedPackage {
  const entries = readTar(gunzip(archive));
  const paths = new PathSet();
  const unpacked: UnpackedPackage = { files: [], entries: entries.length, refusals: [], webAssembly: [], settings: [] };
  let root: string | undefined;
  for (const entry of entries) {
    const path = entry.unsafePath;
    const problem = pathProblem(path) ?? paths.add(path, entry.kind);
    if (problem !== undefined) throw archiveRefusal(problem, path);
    const slash = path.indexOf('/');
    const entryRoot = slash === -1 ? path : path.slice(0, slash);
    root ??= entryRoot;
    // npm lays several roots over one another, or drops what is outside of them.
    if (entryRoot !== root)
      throw archiveRefusal(`it is outside of the archive's root directory ${JSON.stringify(root)}`, path);
    if (slash === -1) {
      if (entry.kind === 'file') throw archiveRefusal('it is outside of any directory', path);
      continue;
    }
    if (entry.kind === 'file') addFile(unpacked, path.slice(slash + 1), entry);
  }
  return unpacked;
}

function addFile(unpacked: UnpackedPackage, path: string, entry: TarEntry): void {
  unpacked.files.push({ path, executable: entry.executable, bytes: entry.bytes });
  const binary = binaryKind(entry.bytes);
  if (binary === 'webassembly') unpacked.webAssembly.push(path);
  if (managerSettings.includes(path)) unpacked.settings.push(path);
  if (binary === 'native' || isAddonName(path)) {
    unpacked.refusals.push(new Refusal('DEPENDENCY_REFUSED', 'it holds native code', path));
  } else if (path === 'binding.gyp') {
    unpacked.refusals.push(new Refusal('DEPENDENCY_REFUSED', 'it builds native code when it is installed', path));
  } else if (path.startsWith('node_modules/')) {
    // They would stand beside, or in place of, what the lockfile names.
    unpacked.refusals.push(
      new Refusal('DEPENDENCY_REFUSED', 'it brings packages that the lockfile does not have', path),
    );
  }
}
