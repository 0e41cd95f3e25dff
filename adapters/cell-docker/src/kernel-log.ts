import { closeSync, constants, openSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

const kernelLog = '/dev/kmsg';

/** A record is read at a time, each in some microseconds; between so many of them others have their turn. */
const recordsEach = 200;

/** More than the largest log that a kernel keeps. */
const maxRecords = 200_000;

/**
 * Whether the kernel wrote that it refused a process or thread in a container's cgroup. It does so at the first refusal in
 * each cgroup, and that outlives the cgroup. No container can write there: its id is 64 digits, and no text of a cell that
 * a kernel repeats is that long.
 *
 * @returns false as well where there is no such log for us to read, or its beginning has been overwritten.
 */
export async function tellsOfRefusedProcess(container: string): Promise<boolean> {
  let log: number;
  try {
    log = openSync(kernelLog, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    for (let read = 0; read < maxRecords; read += recordsEach) {
      for (let record = 0; record < recordsEach; record++) {
        const text = nextRecord(log);
        if (text === undefined) return false;
        if (text.includes('fork rejected by pids controller') && text.includes(container)) return true;
      }
      await nextTurn();
    }
    return false;
  } finally {
    closeSync(log);
  }
}

const maxRecordBytes = 8192;

/** @returns undefined after the last one; an empty text for one that was overwritten before it was read. */
function nextRecord(log: number): string | undefined {
  try {
    const record = Buffer.allocUnsafe(maxRecordBytes);
    return record.toString('latin1', 0, readSync(log, record, 0, maxRecordBytes, null));
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPIPE' ? '' : undefined;
  }
}
