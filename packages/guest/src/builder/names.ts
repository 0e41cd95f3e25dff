import { buildLimits } from '@glovebox/contract/build-limits';
import { registryName } from '@glovebox/contract/package-name';

/**
 * Why a relative path is not taken, or undefined when it is fine: `/` between components, none of them empty, `.` or
 * `..`, no backslash, no control character, within the limits of length and depth. What passes can be joined to a
 * directory and stays below it.
 */
export function pathProblem(path: string): string | undefined {
  if (path === '') return 'its path is empty';
  if (path.startsWith('/')) return 'its path is absolute';
  if (path.includes('\\')) return 'its path has a backslash';
  // Control characters would let a name write its own lines into logs and terminals; NUL would cut the path short.
  for (let i = 0; i < path.length; i++) {
    const c = path.charCodeAt(i);
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return 'its path has a control character';
  }
  if (!path.isWellFormed()) return 'its path is not valid Unicode';
  if (Buffer.byteLength(path) > buildLimits.pathBytes) return `its path is longer than ${buildLimits.pathBytes} bytes`;
  const components = path.split('/');
  if (components.length > buildLimits.pathDepth) return `its path is deeper than ${buildLimits.pathDepth} directories`;
  for (const component of components) {
    if (component === '') return 'its path has an empty component';
    if (component === '.') return 'its path has a "." component';
    if (component === '..') return 'its path has a ".." component';
    if (Buffer.byteLength(component) > buildLimits.nameBytes)
      return `a name in it is longer than ${buildLimits.nameBytes} bytes`;
  }
  return undefined;
}

/** Whether a path is one of npm's places for a package: `node_modules/a`, `node_modules/a/node_modules/@b/c` and so on. */
export function isPackagePath(path: string): boolean {
  if (pathProblem(path) !== undefined || !path.startsWith('node_modules/')) return false;
  return path
    .slice('node_modules/'.length)
    .split('/node_modules/')
    .every((name) => registryName.test(name));
}

/**
 * The paths of one tree, kept so that no two of them can mean the same file: neither twice the same, nor differing in
 * case or Unicode form alone (they would be one file on other file systems, and reviewers would read them as one), nor
 * one as a file and as a directory.
 */
export class PathSet {
  readonly #byFold = new Map<string, { path: string; kind: 'file' | 'directory' }>();

  /** @returns why it cannot be added. A directory may come again. */
  add(path: string, kind: 'file' | 'directory'): string | undefined {
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const problem = this.#put(path.slice(0, end), 'directory');
      if (problem !== undefined) return problem;
    }
    return this.#put(path, kind);
  }

  #put(path: string, kind: 'file' | 'directory'): string | undefined {
    const fold = path.normalize('NFC').toLowerCase();
    const known = this.#byFold.get(fold);
    if (known === undefined) {
      this.#byFold.set(fold, { path, kind });
      return undefined;
    }
    if (known.path !== path) return `its path differs from ${JSON.stringify(known.path)} in case or Unicode form alone`;
    if (known.kind !== kind) return 'its path is a file and a directory at once';
    return kind === 'file' ? 'its path comes twice' : undefined;
  }
}
