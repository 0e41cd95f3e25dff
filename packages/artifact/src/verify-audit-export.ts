import { GloveboxError, type Json, parseJson } from '@glovebox/contract';
import { failure, type TrustedKeys } from './check-statement.ts';
import { type AuditVerification, verifyAudit } from './verify-audit.ts';

const maxLineDepth = 64;
/** Characters of all checkpoints of an export: forty thousand of them. They are held in memory, unlike entries. */
const maxCheckpointsLength = 64 * 1024 * 1024;

/**
 * Check an export of an audit chain, as `audit export` writes it: a head, the entries, the checkpoints, a line of JSON each.
 *
 * What the head says is nobody's word. An export that no pinned key has signed any part of is refused: it is a chain that
 * anyone could have made.
 *
 * @param readUnsafeLines its lines from the first on, each of bounded length; called twice.
 * @returns as verifyAudit; `AUDIT_UNSIGNED`; `AUDIT_BROKEN` with `place.line` for a line that is none of an export.
 */
export async function verifyAuditExport(
  readUnsafeLines: () => AsyncIterable<string>,
  trusted: TrustedKeys,
): Promise<AuditVerification> {
  try {
    const checkpoints: unknown[] = [];
    let length = 0;
    for await (const { value, text } of readExport(readUnsafeLines())) {
      if (value.kind !== 'checkpoint') continue;
      length += text.length;
      if (length > maxCheckpointsLength) return failure('AUDIT_BROKEN', { message: 'Its checkpoints are too many.' });
      checkpoints.push(value.checkpoint);
    }
    const verified = await verifyAudit(entriesOf(readUnsafeLines()), checkpoints, trusted);
    return verified.ok && verified.keyId === null ? failure('AUDIT_UNSIGNED') : verified;
  } catch (error) {
    if (error instanceof GloveboxError) return { ok: false, error: error.toData() };
    throw error;
  }
}

async function* entriesOf(unsafeLines: AsyncIterable<string>): AsyncGenerator<unknown> {
  for await (const { value } of readExport(unsafeLines)) if (value.kind === 'entry') yield value.entry;
}

/** The lines after the head. Nothing may stand where it would be passed over. */
async function* readExport(
  unsafeLines: AsyncIterable<string>,
): AsyncGenerator<{ text: string; value: { [name: string]: Json } }> {
  let line = 0;
  for await (const text of unsafeLines) {
    line++;
    const parsed = parseJson(text, { maxBytes: text.length * 3 + 1, maxDepth: maxLineDepth });
    const value = parsed.ok ? parsed.value : null;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const kind = isObject ? value.kind : undefined;
    const isExpected = line === 1 ? kind === 'glovebox.audit/1' : kind === 'entry' || kind === 'checkpoint';
    if (!isObject || !isExpected) throw brokenLine(line);
    if (line > 1) yield { text, value };
  }
  if (line === 0) throw brokenLine(1);
}

const brokenLine = (line: number): GloveboxError =>
  new GloveboxError('AUDIT_BROKEN', { message: `Line ${line} is not one of an audit export.`, place: { line } });
