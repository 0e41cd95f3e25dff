import { createHash } from 'node:crypto';

const domain = 'glovebox.package-revision/1\0';

/**
 * `sha256:` of the canonical file list: the domain string, then for each file, in ascending order of the bytes of its
 * path: length of the path (4 bytes, big endian), the path in UTF-8, size of the content (8 bytes, big endian), sha256 of
 * the content (32 bytes). Every part has a fixed or a stated length, so no two lists give the same bytes.
 */
export function packageRevision(files: ReadonlyMap<string, Uint8Array>): string {
  const hash = createHash('sha256').update(domain);
  for (const path of sortedByBytes([...files.keys()])) {
    const content = files.get(path) ?? new Uint8Array();
    const name = Buffer.from(path);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(name.length);
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(content.length));
    hash.update(head).update(name).update(size).update(createHash('sha256').update(content).digest());
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Order of UTF-8 bytes, which differs from that of UTF-16 beyond U+FFFF. */
export function sortedByBytes(texts: readonly string[]): string[] {
  return texts
    .map((text) => ({ text, bytes: Buffer.from(text) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ text }) => text);
}
