import satisfiesRange from 'semver/functions/satisfies.js';
import validRange from 'semver/ranges/valid.js';
import { quoted } from '../text.ts';

/** npm's own ranges are short; its parser is not made for hostile ones. */
const maxRangeLength = 256;

/** Why a dependency is not a version or range of the registry; undefined when it is one. The empty range is any version. */
export function rangeProblem(spec: string): string | undefined {
  if (spec.length > maxRangeLength) return `${quoted(spec)} is longer than ${maxRangeLength} characters`;
  const alias = /^npm:(.+)$/.exec(spec);
  if (alias !== null) return `is an alias of ${quoted(alias[1] ?? '')}`;
  if (/^(?:git|github|gitlab|bitbucket|gist)[:+]|\.git(?:#|$)/.test(spec)) return `${quoted(spec)} is a git repository`;
  if (/^(?:file|link|workspace|portal|patch|catalog):|^(?:\.{0,2}|~)\//.test(spec))
    return `${quoted(spec)} is not of the registry`;
  if (/^[a-z][a-z0-9+.-]*:/i.test(spec)) return `${quoted(spec)} is a URL`;
  if (validRange(spec, { loose: true }) !== null) return undefined;
  if (/^[^/\s]+\/[^/\s]+$/.test(spec)) return `${quoted(spec)} is a git repository`;
  return `${quoted(spec)} is a tag or not a range`;
}

/** Whether a range, valid by now, holds back nothing. */
export function matchesEverything(range: string): boolean {
  return validRange(range, { loose: true }) === '*';
}

export function satisfies(version: string, range: string): boolean {
  return satisfiesRange(version, range, { loose: true });
}
