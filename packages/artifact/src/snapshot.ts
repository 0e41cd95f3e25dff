import { GloveboxError, sortedByBytes } from '@glovebox/contract';
import { packageLimits } from '@glovebox/contract/build-limits';
import { afterTarEntry, readTarHeader, tarEnd, tarHeader, tarPadding } from './tar.ts';

/**
 * The files of a package as a tar archive, the same for the same files anywhere: sorted by the bytes of their paths,
 * nothing but paths and content in it.
 *
 * @param files by path from the package's root, with `/`.
 * @throws GloveboxError `PACKAGE_NAME_REFUSED` for a path that is not one of a file below the root; `PACKAGE_TOO_LARGE`.
 */
export function encodeSnapshot(files: ReadonlyMap<string, Uint8Array>): Uint8Array {
  if (files.size > packageLimits.files) throw tooLarge(`The package has more than ${packageLimits.files} files.`);
  const parts: Uint8Array[] = [];
  let totalBytes = 0;
  for (const path of sortedByBytes([...files.keys()])) {
    const content = files.get(path) as Uint8Array;
    requirePlainPath(path);
    totalBytes += content.byteLength;
    if (content.byteLength > packageLimits.fileBytes) throw tooLarge(`${JSON.stringify(path)} is too large.`);
    if (totalBytes > packageLimits.totalBytes) throw tooLarge('The package is too large in all.');
    parts.push(tarHeader(path, content.byteLength), content, tarPadding(content.byteLength));
  }
  return Buffer.concat([...parts, tarEnd]);
}

/**
 * The files of an archive that encodeSnapshot wrote. What differs from that by a single byte is refused: there is one
 * archive for one set of files, and no reader sees another set in it.
 *
 * @throws GloveboxError `ARCHIVE_REFUSED`.
 */
export function decodeSnapshot(bytes: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const files = new Map<string, Uint8Array>();
  let path: string | undefined;
  for (let at = 0; ; ) {
    const entry = readTarHeader(archive.subarray(at, at + 512), at);
    if (typeof entry === 'string') throw refused(entry);
    if (entry === undefined) break;
    at = afterTarEntry(entry);
    const content = archive.subarray(entry.start, entry.start + entry.sizeBytes);
    if (content.length !== entry.sizeBytes) throw refused('it is cut short');
    if (entry.type === 'x') {
      path = paxPath(content);
      continue;
    }
    if (files.size === packageLimits.files) throw refused('it holds too many files');
    files.set(path ?? entry.unsafePath, content);
    path = undefined;
  }
  let again: Uint8Array;
  try {
    again = encodeSnapshot(files);
  } catch (error) {
    if (error instanceof GloveboxError) throw refused(error.message, error);
    throw error;
  }
  if (!archive.equals(again)) throw refused('it is not in canonical form');
  return files;
}

/** Of a pax header as it is written here; anything else shows when the files are encoded again. */
function paxPath(content: Buffer): string {
  const begin = content.indexOf('=') + 1;
  return content.toString('utf8', begin, content.length - 1);
}

function requirePlainPath(path: string): void {
  const components = path.split('/');
  const isPlain =
    path.isWellFormed() &&
    !path.includes('\0') &&
    Buffer.byteLength(path) <= packageLimits.pathBytes &&
    components.length <= packageLimits.depth + 1 &&
    components.every((component) => component !== '' && component !== '.' && component !== '..');
  if (isPlain) return;
  throw new GloveboxError('PACKAGE_NAME_REFUSED', {
    message: `${JSON.stringify(path.toWellFormed().slice(0, 200))} is not a path below the package's root.`,
  });
}

const tooLarge = (message: string): GloveboxError => new GloveboxError('PACKAGE_TOO_LARGE', { message });

function refused(reason: string, cause?: unknown): GloveboxError {
  return new GloveboxError('ARCHIVE_REFUSED', {
    message: `This is no archive of a package: ${reason}.`,
    hint: 'Only what Glovebox wrote itself is taken.',
    cause,
  });
}
