import { randomBytes } from 'node:crypto';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { gunzip, inflateLimit } from './gunzip.ts';

const refused = expect.objectContaining({ rule: 'ARCHIVE_REFUSED' });

describe('gunzip', () => {
  it.each([0, 1, 1000, 200_000])('inflates %i bytes', (length) => {
    const bytes = randomBytes(length);
    expect(gunzip(gzipSync(bytes)).equals(bytes)).toBe(true);
  });

  it('reads past the optional header fields', () => {
    const plain = gzipSync('hello');
    const header = Buffer.from(plain.subarray(0, 10));
    header[3] = 2 | 4 | 8 | 16;
    const fields = Buffer.from('\x03\x00abcname\0comment\0hc', 'latin1');
    expect(gunzip(Buffer.concat([header, fields, plain.subarray(10)])).toString()).toBe('hello');
  });

  it('refuses a second member, bytes behind the end, and a member without its end', () => {
    const plain = gzipSync('hello');
    expect(gunzip(plain).toString()).toBe('hello');
    expect(() => gunzip(Buffer.concat([plain, plain]))).toThrow(refused);
    expect(() => gunzip(Buffer.concat([plain, Buffer.alloc(1)]))).toThrow(refused);
    for (let length = 0; length < plain.length; length++)
      expect(() => gunzip(plain.subarray(0, length))).toThrow(refused);
  });

  it('refuses a wrong checksum, a wrong length and another method', () => {
    for (const at of [-5, -1, 2, 0]) {
      const bytes = gzipSync('hello');
      const index = at < 0 ? bytes.length + at : at;
      bytes[index] = (bytes[index] as number) ^ 1;
      expect(() => gunzip(bytes)).toThrow(refused);
    }
  });

  it('stops a bomb at its ratio, even where the length field lies', () => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));
    expect(bomb.length * 200).toBeLessThan(32 * 1024 * 1024);
    expect(() => gunzip(bomb)).toThrow(/inflates to more than/);
    bomb.writeUInt32LE(10, bomb.length - 4);
    expect(() => gunzip(bomb)).toThrow(/inflates to more than/);
  });

  it('stops at the absolute limit, and takes what is just below it', () => {
    expect(inflateLimit(100)).toBe(8 * 1024 * 1024);
    expect(inflateLimit(30 * 1024 * 1024)).toBe(64 * 1024 * 1024);
    expect(gunzip(gzipSync(Buffer.alloc(1000)), 1000)).toHaveLength(1000);
    expect(() => gunzip(gzipSync(Buffer.alloc(1001)), 1000)).toThrow(/more than 1000 bytes/);
  });

  it('refuses deflate without its gzip frame', () => {
    expect(() => gunzip(deflateRawSync('hello hello hello hello'))).toThrow(refused);
  });
});
