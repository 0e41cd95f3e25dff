import { type FileHandle, open } from 'node:fs/promises';
import { GloveboxError } from '@glovebox/contract';

/** What the dynamic loader reads of a 64-bit little-endian ELF file. Names and values: System V ABI, chapters 4 and 5. */
export interface ElfFile {
  machine: number;
  /** PT_INTERP: the loader that the kernel starts. Undefined for libraries and static binaries. */
  interpreter: string | undefined;
  /** DT_NEEDED, in order. */
  needed: string[];
}

export const elfMachines: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };

const programTypes = { load: 1, dynamic: 2, interpreter: 3 } as const;
const dynamicTags = { needed: 1, stringTable: 5 } as const;

interface Segment {
  type: number;
  offset: number;
  address: number;
  size: number;
}

/** A name in a string table is at most as long as a path. */
const longestName = 4096;
/** Real files have a few kilobytes of each; more is not a file that a loader takes. */
const largestTable = 1024 * 1024;

/**
 * @returns undefined when the file is not a 64-bit little-endian ELF file.
 * @throws GloveboxError `IMAGE_BUILD_FAILED` when it begins like one and is damaged.
 */
export async function readElf(path: string): Promise<ElfFile | undefined> {
  const file = await open(path, 'r');
  try {
    const header = await readAt(file, path, 0, 64).catch(() => undefined);
    if (header === undefined || header.readUInt32BE(0) !== 0x7f454c46 || header[4] !== 2 || header[5] !== 1)
      return undefined;
    const segments = await readSegments(file, path, header);
    return {
      machine: header.readUInt16LE(18),
      interpreter: await readInterpreter(file, path, segments),
      needed: await readNeeded(file, path, segments),
    };
  } finally {
    await file.close();
  }
}

async function readSegments(file: FileHandle, path: string, header: Buffer): Promise<Segment[]> {
  const entryBytes = header.readUInt16LE(54);
  const count = header.readUInt16LE(56);
  if (entryBytes < 56) throw damaged(path);
  const table = await readAt(file, path, number64(header, 32, path), entryBytes * count);
  return Array.from({ length: count }, (_, i) => {
    const at = i * entryBytes;
    return {
      type: table.readUInt32LE(at),
      offset: number64(table, at + 8, path),
      address: number64(table, at + 16, path),
      size: number64(table, at + 32, path),
    };
  });
}

async function readInterpreter(file: FileHandle, path: string, segments: Segment[]): Promise<string | undefined> {
  const segment = segments.find(({ type }) => type === programTypes.interpreter);
  if (segment === undefined) return undefined;
  return textAt(await readAt(file, path, segment.offset, segment.size), 0, path);
}

async function readNeeded(file: FileHandle, path: string, segments: Segment[]): Promise<string[]> {
  const dynamic = segments.find(({ type }) => type === programTypes.dynamic);
  if (dynamic === undefined) return [];
  const table = await readAt(file, path, dynamic.offset, dynamic.size);
  const offsets: number[] = [];
  let stringTable: number | undefined;
  for (let at = 0; at + 16 <= table.length; at += 16) {
    const tag = number64(table, at, path);
    if (tag === 0) break;
    if (tag === dynamicTags.needed) offsets.push(number64(table, at + 8, path));
    if (tag === dynamicTags.stringTable) stringTable = fileOffset(number64(table, at + 8, path), segments, path);
  }
  const names: string[] = [];
  for (const offset of offsets) {
    if (stringTable === undefined) throw damaged(path);
    names.push(textAt(await readUpTo(file, path, stringTable + offset, longestName), 0, path));
  }
  return names;
}

/** Where the byte that is mapped at `address` lies in the file. */
function fileOffset(address: number, segments: Segment[], path: string): number {
  const holder = segments.find(
    ({ type, address: start, size }) => type === programTypes.load && address >= start && address < start + size,
  );
  if (holder === undefined) throw damaged(path);
  return holder.offset + (address - holder.address);
}

function textAt(bytes: Buffer, start: number, path: string): string {
  const end = bytes.indexOf(0, start);
  if (end < 0) throw damaged(path);
  return bytes.toString('utf8', start, end);
}

/** Tags of vendors have the high bit set; they are out of the range that matters here and read as a negative number. */
function number64(bytes: Buffer, at: number, path: string): number {
  if (at + 8 > bytes.length) throw damaged(path);
  return Number(bytes.readBigInt64LE(at));
}

async function readAt(file: FileHandle, path: string, offset: number, length: number): Promise<Buffer> {
  const bytes = await readUpTo(file, path, offset, length);
  if (bytes.length < length) throw damaged(path);
  return bytes;
}

/** Offsets and lengths are the file's own words: any number may stand there. */
async function readUpTo(file: FileHandle, path: string, offset: number, length: number): Promise<Buffer> {
  if (!Number.isSafeInteger(offset) || offset < 0 || length < 0 || length > largestTable) throw damaged(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

const damaged = (path: string): GloveboxError =>
  new GloveboxError('IMAGE_BUILD_FAILED', { message: `${path} is a damaged ELF file.` });
