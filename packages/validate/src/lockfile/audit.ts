import type { ErrorCode, Finding } from '@glovebox/contract';
import { Findings } from '../findings.ts';
import { readJsonFile } from '../json/read.ts';
import { ToldOf } from '../json/told.ts';
import { isObject } from '../json/value.ts';
import { quoted } from '../text.ts';
import { nameOfPath, readEntry } from './entry.ts';
import { isNative } from './platform.ts';

const limits = { maxBytes: 16 * 1024 * 1024, maxDepth: 64 };

/** What a repository may have that a node package may not. */
export interface AuditAllowances {
  /** Base URLs, without a slash at the end, whose archives the lockfile may name. */
  registries: readonly string[];
  /** Directories of the repository that links may lead to. */
  workspaces: readonly string[];
  /** Names of packages that have an install script, which nobody lets run. */
  withInstallScript: readonly string[];
}

/**
 * Hold every entry of a repository's package-lock.json, whatever leads to it, to the rules for node packages: a plain
 * package of the registry with one sha512 hash. Machine code only where npm may leave it out, and links only to workspaces.
 */
export function auditLockfile(bytes: Uint8Array, allowances: AuditAllowances): Finding[] {
  const findings = new Findings();
  const json = readJsonFile('package-lock.json', bytes, limits, 'LOCKFILE_INVALID', findings);
  if (json === undefined) return findings.all();
  const told = new ToldOf(json);
  const tell = (rule: ErrorCode, path: string[], message: string): void => told.tell({ rule, path, message });
  const { value } = json;
  if (!isObject(value) || !isObject(value.packages))
    tell('LOCKFILE_INVALID', ['packages'], 'packages must be an object');
  else if (value.lockfileVersion !== 3) tell('LOCKFILE_INVALID', ['lockfileVersion'], 'lockfileVersion must be 3');
  else {
    for (const [path, entry] of Object.entries(value.packages)) {
      const at = ['packages', path];
      if (!isObject(entry)) tell('LOCKFILE_INVALID', at, `${quoted(path)} must be an object`);
      else for (const problem of problemsOf(path, entry, allowances)) tell('LOCKFILE_ENTRY_REFUSED', at, problem);
    }
  }
  told.report(findings);
  return findings.all();
}

function problemsOf(path: string, entry: Parameters<typeof readEntry>[2], allowances: AuditAllowances): string[] {
  const { registries, workspaces, withInstallScript } = allowances;
  if (path === '' || workspaces.includes(path)) return [];
  if (entry.link === true) {
    const known = typeof entry.resolved === 'string' && workspaces.includes(entry.resolved);
    return known ? [] : [`${quoted(path)} is a link to what is no workspace`];
  }
  // Tools of a workspace may stand below it.
  const within = workspaces.find((workspace) => path.startsWith(`${workspace}/node_modules/`));
  const name = nameOfPath(within === undefined ? path : path.slice(within.length + 1));
  if (name === undefined) return [`${quoted(path)} is not a path in node_modules`];
  const read = readEntry(path, name, entry, registries);
  const problems = read.refused.map(({ message }) => `${path} ${message}`);
  if (read.hasInstallScript && !withInstallScript.includes(name)) problems.push(`${path} has an install script`);
  if (isNative(read.restriction) && !read.flags.optional) problems.push(`${path} is machine code for one platform`);
  return problems;
}
