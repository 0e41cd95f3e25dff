import { z } from 'zod';
import { idPatterns } from './ids.ts';

/** Versions of nodes: semver 2.0.0 without build metadata, which would name one release in two ways. At most 64 characters. */
export const versionPattern =
  /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-(?:0|[1-9]\d{0,8}|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d{0,8}|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$/;

export const versionSchema = z.string().max(64).regex(versionPattern, 'must be a version such as 1.2.3');

/** `[project/]id[@version | @sha256:…]`. With neither version nor digest it means the newest release that is not revoked. */
export interface Reference {
  /** Undefined where the text names none: the caller's own. */
  project?: string;
  id: string;
  /** What is asked for. */
  select: { kind: 'newest' } | { kind: 'version'; version: string } | { kind: 'digest'; digest: string };
}

/** @returns undefined when the text is not a reference. */
export function parseReference(text: string): Reference | undefined {
  if (text.length > 300) return undefined;
  const at = text.indexOf('@');
  const name = at === -1 ? text : text.slice(0, at);
  const selector = at === -1 ? undefined : text.slice(at + 1);
  const parts = name.split('/');
  const id = parts.pop() ?? '';
  const project = parts.pop();
  if (parts.length > 0 || !idPatterns.node.test(id)) return undefined;
  if (project !== undefined && !idPatterns.project.test(project)) return undefined;
  const select = readSelector(selector);
  return select === undefined ? undefined : { ...(project === undefined ? {} : { project }), id, select };
}

function readSelector(text: string | undefined): Reference['select'] | undefined {
  if (text === undefined) return { kind: 'newest' };
  if (idPatterns.digest.test(text)) return { kind: 'digest', digest: text };
  return versionSchema.safeParse(text).success ? { kind: 'version', version: text } : undefined;
}

/** `project/id@version`, the full name of a release. */
export function formatReference(release: { project: string; id: string; version: string }): string {
  return `${release.project}/${release.id}@${release.version}`;
}
