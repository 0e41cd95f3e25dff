import type { AuditCheckpoint, AuditEntry } from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import { auditEntries } from './audit-entries.ts';

/** The lines of an export, in this order: one head, all entries by number, the checkpoints over them. */
export type AuditLine =
  | { kind: 'glovebox.audit/1'; instance: string; keyId: string; exportedAt: string }
  | { kind: 'entry'; entry: AuditEntry }
  | { kind: 'checkpoint'; checkpoint: AuditCheckpoint };

/**
 * The audit chain as lines of JSON without line ends. Whoever has them and the public key can check them as they are here:
 * they are not judged.
 *
 * @throws GloveboxError `AUDIT_BROKEN` where an entry cannot be read.
 */
export async function* exportAudit({
  audit,
  signer,
  now,
}: Pick<Engine, 'audit' | 'signer' | 'now'>): AsyncGenerator<string> {
  yield line({
    kind: 'glovebox.audit/1',
    instance: signer.instance,
    keyId: signer.keyId,
    exportedAt: new Date(now()).toISOString(),
  });
  let last = 0;
  for await (const entry of auditEntries(audit)) {
    yield line({ kind: 'entry', entry });
    last = entry.seq;
  }
  // Of entries that came meanwhile, nothing is told.
  for (const checkpoint of await audit.checkpoints()) {
    if (checkpoint.seq <= last) yield line({ kind: 'checkpoint', checkpoint });
  }
}

const line = (value: AuditLine): string => JSON.stringify(value);
