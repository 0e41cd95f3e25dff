import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { UnpackReport } from '@glovebox/contract';
import { type BuildInput, buildLimits } from '@glovebox/contract/build-limits';
import { binaryKind, isAddonName } from './magic.ts';
import { isPackagePath, PathSet, pathProblem } from './names.ts';
import { readPackageArchive } from './package-archive.ts';
import { inspectPackageJson, isReachable } from './package-json.ts';
import { archiveRefusal, Refusal } from './refusal.ts';

type FileInput = Extract<BuildInput, { kind: 'file' }>;
type PackageInput = Extract<BuildInput, { kind: 'package' }>;

/** Why a file that is kept must not be there, for what it holds; `rule` depends on whose it is. */
export type RefusesFile = (path: string, bytes: Buffer, rule: Refusal['rule']) => Refusal | undefined;

/**
 * The directory that a builder cell works on: the author's files and the unpacked dependencies, every one of them written
 * here as a regular file, so that no link and no special file can be in it.
 *
 * What is refused becomes a finding and is not written; everything else is, so that one build names all that is wrong. A
 * package that is there for development alone, and that a cell cannot have, is left out without a finding: authors may use
 * it at home. An archive that is not well-formed is a finding in any case.
 */
export class SourceTree {
  readonly #root: string;
  readonly #keeps: (path: string) => boolean;
  readonly #refuses: RefusesFile;
  readonly #authorFiles: string[] = [];
  readonly #authorPaths = new PathSet();
  readonly #packagePaths = new Set<string>();
  readonly #needs: { path: string; needs: string[] }[] = [];
  readonly #madeDirectories = new Set<string>();
  readonly #report: UnpackReport = {
    files: 0,
    packages: 0,
    entries: 0,
    bytes: 0,
    findings: [],
    moreFindings: 0,
    webAssembly: [],
    settings: [],
  };

  /**
   * @param root an absolute path; it is made, and must not exist.
   * @param keeps which files of dependencies are written, by their path in the package.
   * @param refuses asked for the files of the author, and for those of dependencies that are kept, for development or not.
   */
  constructor(root: string, keeps: (path: string) => boolean, refuses: RefusesFile = () => undefined) {
    this.#root = root;
    this.#keeps = keeps;
    this.#refuses = refuses;
    mkdirSync(root, { mode: 0o755 });
  }

  /** Paths of the author's files that were written, in the order in which they came. */
  get authorFiles(): readonly string[] {
    return this.#authorFiles;
  }

  addFile(input: FileInput, bytes: Buffer): void {
    this.#report.files++;
    const refusal = this.#refuseFile(input.path, bytes);
    if (refusal !== undefined) this.#find(refusal);
    else {
      if (binaryKind(bytes) === 'webassembly') this.#noteWebAssembly(input.path);
      this.#account(1, bytes.length);
      this.#write(input.path, bytes, false);
      this.#authorFiles.push(input.path);
    }
  }

  addPackage(input: PackageInput, archive: Buffer): void {
    this.#report.packages++;
    if (!isPackagePath(input.path) || this.#packagePaths.has(input.path)) {
      throw new Error('the host sent a package without a place of its own');
    }
    this.#packagePaths.add(input.path);
    try {
      this.#unpack(input, archive);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#find(error, input.path);
    }
  }

  /** Checks that need the whole tree. Call it once, after the last input. */
  finish(): UnpackReport {
    for (const { path, needs } of this.#needs) {
      for (const name of needs) {
        if (isReachable(path, name, this.#packagePaths)) continue;
        // The registry's metadata, from which lockfiles are made, did not tell of it.
        const reason = `it depends on ${JSON.stringify(name.slice(0, 200))}, which the lockfile does not have for it`;
        this.#find(new Refusal('DEPENDENCY_REFUSED', reason, 'package.json'), path);
      }
    }
    return this.#report;
  }

  #refuseFile(path: string, bytes: Buffer): Refusal | undefined {
    const problem = pathProblem(path) ?? this.#authorPaths.add(path, 'file');
    if (problem !== undefined) return new Refusal('PACKAGE_NAME_REFUSED', problem, path);
    // Committed packages would stand in for what the lockfile names and the registry has.
    if (path.split('/').includes('node_modules')) {
      return new Refusal('PACKAGE_FILE_REFUSED', 'the package brings a node_modules directory', path);
    }
    if (binaryKind(bytes) === 'native' || isAddonName(path))
      return new Refusal('PACKAGE_FILE_REFUSED', 'it is native code', path);
    return this.#refuses(path, bytes, 'TYPES_SUPPRESSED');
  }

  #unpack(input: PackageInput, archive: Buffer): void {
    const unpacked = readPackageArchive(archive);
    const { refusals, needs } = inspectPackageJson(unpacked, input);
    if (input.use === 'node') {
      for (const refusal of [...unpacked.refusals, ...refusals]) this.#find(refusal, input.path);
      this.#needs.push({ path: input.path, needs });
    }
    let bytes = 0;
    for (const file of unpacked.files) bytes += file.bytes.length;
    this.#account(unpacked.entries, bytes);
    if (input.use === 'node') for (const path of unpacked.webAssembly) this.#noteWebAssembly(`${input.path}/${path}`);
    const { settings } = this.#report;
    const room = buildLimits.settingsFiles - settings.length;
    settings.push(...unpacked.settings.slice(0, room).map((path) => `${input.path}/${path}`));
    // A refused package ends the build: writing it would only take room.
    if (unpacked.refusals.length + refusals.length > 0) return;
    for (const file of unpacked.files) {
      if (!this.#keeps(file.path)) continue;
      const refusal = this.#refuses(file.path, file.bytes, 'DEPENDENCY_REFUSED');
      if (refusal !== undefined) this.#find(refusal, input.path);
      else this.#write(`${input.path}/${file.path}`, file.bytes, file.executable);
    }
  }

  /** Counted before anything of it is written: the scratch directory must never be what stops a bomb. */
  #account(entries: number, bytes: number): void {
    const total = { entries: this.#report.entries + entries, bytes: this.#report.bytes + bytes };
    if (total.entries > buildLimits.totalEntries) {
      throw archiveRefusal(`with it, the packages have more than ${buildLimits.totalEntries} entries`);
    }
    if (total.bytes > buildLimits.totalUnpackedBytes) {
      throw archiveRefusal(`with it, the packages are larger than ${buildLimits.totalUnpackedBytes} bytes`);
    }
    Object.assign(this.#report, total);
  }

  #write(path: string, bytes: Buffer, executable: boolean): void {
    const target = join(this.#root, path);
    const directory = dirname(target);
    if (!this.#madeDirectories.has(directory)) {
      mkdirSync(directory, { recursive: true, mode: 0o755 });
      this.#madeDirectories.add(directory);
    }
    writeFileSync(target, bytes, { flag: 'wx', mode: executable ? 0o755 : 0o644 });
  }

  #noteWebAssembly(path: string): void {
    if (this.#report.webAssembly.length < buildLimits.webAssemblyFiles) this.#report.webAssembly.push(path);
    // A list that is cut short would let the next one through.
    else
      this.#find(
        new Refusal(
          'DEPENDENCY_REFUSED',
          `there are more than ${buildLimits.webAssemblyFiles} WebAssembly files`,
          path,
        ),
      );
  }

  #find(refusal: Refusal, packagePath?: string): void {
    if (this.#report.findings.length >= buildLimits.findings) {
      this.#report.moreFindings++;
      return;
    }
    this.#report.findings.push({
      rule: refusal.rule,
      message: refusal.message.slice(0, 400),
      ...(packagePath === undefined ? {} : { package: packagePath }),
      ...(refusal.entry === undefined ? {} : { entry: refusal.entry.slice(0, 300) }),
    });
  }
}
