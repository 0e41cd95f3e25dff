import { type AuditEntry, GloveboxError } from '@glovebox/contract';
import type { AuditLog } from '../ports.ts';

/** Entries that are read at a time. */
const pageSize = 500;

/**
 * The entries after a number, as they are stored, read in pages until there are none left.
 *
 * @throws GloveboxError `AUDIT_BROKEN` with the number of a row that holds no entry any more.
 */
export async function* auditEntries(audit: Pick<AuditLog, 'list'>, after = 0): AsyncGenerator<AuditEntry> {
  for (let last = after; ; ) {
    const page = await readPage(audit, last);
    yield* page;
    last = page.at(-1)?.seq ?? last;
    if (page.length < pageSize) return;
  }
}

async function readPage(audit: Pick<AuditLog, 'list'>, after: number): Promise<AuditEntry[]> {
  try {
    return await audit.list({ after, limit: pageSize });
  } catch (error) {
    // Disks and locks are not the chain's fault. What is a defect anywhere else is a row that somebody wrote here.
    if (GloveboxError.is(error) && error.code !== 'INTERNAL') throw error;
    const seq = await firstUnreadable(audit, after);
    if (seq === undefined) throw error;
    throw new GloveboxError('AUDIT_BROKEN', {
      message: `Entry ${seq} of the audit chain cannot be read.`,
      details: { seq },
      cause: error,
    });
  }
}

async function firstUnreadable(audit: Pick<AuditLog, 'list'>, after: number): Promise<number | undefined> {
  for (let seq = after; seq < after + pageSize; seq++) {
    try {
      await audit.list({ after: seq, limit: 1 });
    } catch {
      return seq + 1;
    }
  }
  return undefined;
}
