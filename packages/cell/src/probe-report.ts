import { GloveboxError, type ProbeDocument, probeDocumentSchema } from '@glovebox/contract';
import { readSysprobe, type SysprobeReport } from './sysprobe.ts';

/** All that one probe boot told. */
export interface ProbeReport {
  document: ProbeDocument;
  calls: SysprobeReport;
}

/** More than a probe writes; what comes after is not read. */
export const maxProbeBytes = 1024 * 1024;

const newline = 10;

/**
 * Read what a probe cell wrote to fd 1: the length of a JSON document, a newline, the document, a newline, and the records of
 * the system-call probe.
 *
 * @param unsafeBytes from a cell.
 * @throws GloveboxError `HOST_UNSUPPORTED` when it is not that.
 */
export function readProbeReport(unsafeBytes: Uint8Array): ProbeReport {
  const bytes = Buffer.from(unsafeBytes.buffer, unsafeBytes.byteOffset, unsafeBytes.byteLength);
  const lineEnd = bytes.subarray(0, 16).indexOf(newline);
  const length = Number(bytes.toString('latin1', 0, Math.max(0, lineEnd)));
  const start = lineEnd + 1;
  if (lineEnd < 1 || !Number.isSafeInteger(length) || bytes[start + length] !== newline) throw unreadable();
  let unsafeDocument: unknown;
  try {
    unsafeDocument = JSON.parse(bytes.toString('utf8', start, start + length));
  } catch (thrown) {
    throw unreadable(thrown);
  }
  const parsed = probeDocumentSchema.safeParse(unsafeDocument);
  if (!parsed.success) throw unreadable(parsed.error);
  return { document: parsed.data, calls: readSysprobe(bytes.subarray(start + length + 1)) };
}

const unreadable = (cause?: unknown): GloveboxError =>
  new GloveboxError('HOST_UNSUPPORTED', { message: 'The probe cell gave no readable report.', cause });
