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

/** As some releases of npm name the file that is `main` in package.json, where that begins with `./`. */
const mainAgain = /^([^/]+\/)\.\/(?=[^/])/;

/**
 * The files of a package archive as npm would unpack it: the first component of each path, whatever it is called, is the
 * package itself. Nothing is written here: an archive is refused as a whole or taken as a whole.
 *
 * One spelling beside the plain one is taken, because npm writes it: `package/./a` is `package/a`, and where both are there
 * they have to be the same, as which one counts would depend on who unpacks them.
 *
 * @throws Refusal `ARCHIVE_REFUSED`, naming the entry.
 */
export function readPackageArchive(archive: Buffer): UnpackedPackage {
  const entries = readTar(gunzip(archive));
  const paths = new PathSet();
  const unpacked: UnpackedPackage = { files: [], entries: entries.length, refusals: [], webAssembly: [], settings: [] };
  let root: string | undefined;
  const take = (entry: TarEntry, path: string): void => {
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
      return;
    }
    if (entry.kind === 'file') addFile(unpacked, path.slice(slash + 1), entry);
  };
  const isAgain = ({ kind, unsafePath }: TarEntry): boolean => kind === 'file' && mainAgain.test(unsafePath);
  for (const entry of entries) if (!isAgain(entry)) take(entry, entry.unsafePath);
  const taken = new Map(unpacked.files.map((file) => [`${root}/${file.path}`, file]));
  for (const entry of entries.filter(isAgain)) {
    const path = entry.unsafePath.replace(mainAgain, '$1');
    const same = taken.get(path);
    if (same === undefined) take(entry, path);
    else if (same.executable !== entry.executable || !same.bytes.equals(entry.bytes))
      throw archiveRefusal('its path comes twice, with another content', entry.unsafePath);
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
