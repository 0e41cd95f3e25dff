import { constants, type Stats } from 'node:fs';
import { open, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Edit, GloveboxError, type ReportFinding } from '@glovebox/contract';
import { stageBeside, targetError } from './target.ts';

/** A remedy whose edits were made. */
export interface AppliedFix {
  rule: string;
  title: string;
  /** Paths in the package, each once. */
  files: string[];
}

/**
 * Make the edits that findings propose, in the files of a package directory. A fix is made whole or not at all; one that would
 * change what another one changes is left for the next time. Each file is replaced whole, and keeps its owner and mode.
 *
 * @param files the bytes that the findings are about, by path.
 * @throws GloveboxError `DRAFT_STALE` when a file is no longer what the findings are about, and `TARGET_UNUSABLE`. Before the
 *   first file is written all of them are looked at.
 */
export async function applyFixes(
  dir: string,
  files: ReadonlyMap<string, Uint8Array>,
  findings: readonly ReportFinding[],
): Promise<AppliedFix[]> {
  const texts = new EditedTexts(files);
  const applied: AppliedFix[] = [];
  for (const { rule, fix } of findings) {
    if (fix === undefined || fix.edits.length === 0 || !texts.take(fix.edits)) continue;
    applied.push({ rule, title: fix.title, files: [...new Set(fix.edits.map(({ file }) => file))] });
  }
  const root = await realpath(dir);
  const edited = texts.edited();
  for (const { file, before } of edited) await requireUnchanged(root, file, before);
  for (const { file, before, after } of edited) await replaceFile(root, file, before, after);
  return applied;
}

interface Span {
  start: number;
  end: number;
  text: string;
}

/** Texts of a package, and the edits that were taken of each: none of them overlap. */
class EditedTexts {
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #spans = new Map<string, Span[]>();

  constructor(files: ReadonlyMap<string, Uint8Array>) {
    this.#files = files;
  }

  /** @returns false, and takes none, where one is out of its text or overlaps with what was taken before. */
  take(edits: readonly Edit[]): boolean {
    const taken = new Map<string, Span[]>();
    for (const { file, start, end, text } of edits) {
      const content = this.#text(file);
      if (content === undefined) return false;
      const span = { start: offsetOf(content, start), end: offsetOf(content, end), text };
      if (!(span.start <= span.end)) return false;
      const spans = taken.get(file) ?? this.#spans.get(file) ?? [];
      if (spans.some((other) => span.start <= other.end && other.start <= span.end)) return false;
      taken.set(file, [...spans, span]);
    }
    for (const [file, spans] of taken) this.#spans.set(file, spans);
    return true;
  }

  edited(): { file: string; before: Uint8Array; after: string }[] {
    return [...this.#spans].map(([file, spans]) => {
      const text = this.#text(file) as string;
      const last = [...spans].sort((a, b) => b.start - a.start);
      const after = last.reduce((so, span) => so.slice(0, span.start) + span.text + so.slice(span.end), text);
      return { file, before: this.#files.get(file) as Uint8Array, after };
    });
  }

  /** Undefined for what is not there or no UTF-8: edits count characters. */
  #text(file: string): string | undefined {
    const bytes = this.#files.get(file);
    if (bytes === undefined) return undefined;
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return undefined;
    }
  }
}

/** Where a line and column are in a text; not a number where they are not in it. */
function offsetOf(text: string, { line, column }: Edit['start']): number {
  let begin = 0;
  for (let at = 1; at < line; at++) {
    const feed = text.indexOf('\n', begin);
    if (feed === -1) return Number.NaN;
    begin = feed + 1;
  }
  const feed = text.indexOf('\n', begin);
  const end = feed === -1 ? text.length : feed;
  return begin + column - 1 <= end ? begin + column - 1 : Number.NaN;
}

/** A plain file with just these bytes, reached through no link: what was validated had none. */
async function requireUnchanged(root: string, file: string, expected: Uint8Array): Promise<Stats> {
  const path = join(root, file);
  const changed = (cause?: unknown): GloveboxError =>
    new GloveboxError('DRAFT_STALE', {
      message: `${file} was changed after it was validated.`,
      hint: 'Run the command again.',
      place: { file: path },
      cause,
    });
  try {
    if ((await realpath(dirname(path))) !== dirname(path)) throw changed();
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stat = await handle.stat();
      if (!stat.isFile() || stat.size !== expected.byteLength) throw changed();
      if (Buffer.compare(await handle.readFile(), expected) !== 0) throw changed();
      return stat;
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'].includes(code) ? changed(error) : targetError(error, path);
  }
}

async function replaceFile(root: string, file: string, before: Uint8Array, after: string): Promise<void> {
  const path = join(root, file);
  const staged = stageBeside(path);
  try {
    // It may have been saved while another file was written.
    const { uid, gid, mode } = await requireUnchanged(root, file, before);
    const handle = await open(staged, 'wx', 0o600);
    try {
      await handle.writeFile(after);
      await handle.chown(uid, gid);
      await handle.chmod(mode & 0o777);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(staged, path);
  } catch (error) {
    throw targetError(error, path);
  } finally {
    await rm(staged, { force: true });
  }
}
