import { formatSize } from '@glovebox/contract';
import { Findings } from '../findings.ts';
import type { SnapshotResult } from '../node-package.ts';
import { quoted } from '../text.ts';
import { ignoredAtRoot, packageLimits } from './limits.ts';
import { checkName, collisionKey } from './names.ts';
import { sortedByBytes } from './revision.ts';

/** What stands in a directory: by the form in which file systems may take two names for one. */
type Directory = Map<string, { name: string; below: Directory | undefined }>;

/** See the function of this name in the package's index. */
export function gatherSnapshot(entries: Iterable<readonly [path: string, bytes: Uint8Array]>): SnapshotResult {
  const findings = new Findings();
  const files = new Map<string, Uint8Array>();
  const root: Directory = new Map();
  let count = 0;
  let totalBytes = 0;
  for (const [path, bytes] of entries) {
    if (++count > packageLimits.files) {
      findings.error('PACKAGE_TOO_LARGE', `the package holds more than ${packageLimits.files} files`);
      break;
    }
    totalBytes += bytes.byteLength;
    if (totalBytes > packageLimits.totalBytes) {
      findings.error('PACKAGE_TOO_LARGE', `the package is over ${formatSize(packageLimits.totalBytes)} in all`);
      break;
    }
    if (!acceptPath(path, root, findings)) continue;
    if (bytes.byteLength > packageLimits.fileBytes) {
      const most = formatSize(packageLimits.fileBytes);
      findings.error('PACKAGE_TOO_LARGE', `${path} is ${formatSize(bytes.byteLength)}; at most ${most}`, {
        file: path,
      });
      continue;
    }
    files.set(path, bytes);
  }
  if (findings.hasErrors) return { ok: false, findings: findings.all() };
  const sorted = sortedByBytes([...files.keys()]).map((path) => [path, files.get(path) ?? new Uint8Array()] as const);
  return { ok: true, files: new Map(sorted), warnings: [] };
}

function acceptPath(path: string, root: Directory, findings: Findings): boolean {
  const refuse = (rule: 'PACKAGE_NAME_REFUSED' | 'PACKAGE_FILE_REFUSED' | 'PACKAGE_TOO_LARGE', why: string): false => {
    findings.error(rule, `${quoted(path)} ${why}`, { file: quoted(path, 200).slice(1, -1) });
    return false;
  };
  if (Buffer.byteLength(path) > packageLimits.pathBytes)
    return refuse('PACKAGE_NAME_REFUSED', `is longer than ${packageLimits.pathBytes} bytes`);
  const names = path.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..'))
    return refuse('PACKAGE_NAME_REFUSED', 'is not a path in the package');
  if (names.length - 1 > packageLimits.depth)
    return refuse('PACKAGE_TOO_LARGE', `is deeper than ${packageLimits.depth} directories`);
  // As text a name can hold half of a surrogate pair, which no bytes stand for.
  if (!path.isWellFormed()) return refuse('PACKAGE_NAME_REFUSED', 'is not valid Unicode');
  for (const name of names) {
    const check = checkName(Buffer.from(name));
    if (!check.ok) return refuse('PACKAGE_NAME_REFUSED', check.problem);
  }
  // A walk of a directory leaves these out, or refuses them: no two ways of handing in a package may differ.
  if (ignoredAtRoot.has(names[0] ?? '') || names.some((name) => name === 'node_modules' || name === '.git'))
    return refuse('PACKAGE_FILE_REFUSED', 'is no part of a package');
  const other = collision(names, root);
  return other === undefined || refuse('PACKAGE_NAME_REFUSED', `and ${quoted(other)} cannot both be there`);
}

/** Put a file into the tree. @returns the path of what stands in its place already, or would on some file system. */
function collision(names: readonly string[], root: Directory): string | undefined {
  let directory = root;
  for (const [depth, name] of names.entries()) {
    const key = collisionKey(name);
    const last = depth === names.length - 1;
    const found = directory.get(key);
    if (found !== undefined && (last || found.name !== name || found.below === undefined))
      return [...names.slice(0, depth), found.name].join('/');
    const below: Directory | undefined = found?.below ?? (last ? undefined : new Map());
    if (found === undefined) directory.set(key, { name, below });
    directory = below ?? directory;
  }
  return undefined;
}
