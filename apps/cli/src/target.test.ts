import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeNewFile } from './target.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'glovebox-target-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Two chunks, of something that is to be closed. */
class Source {
  left = 2;
  closed = false;

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: async () => {
        this.closed ||= this.left === 0;
        return this.left-- > 0 ? { done: false, value: Buffer.from('ab') } : { done: true, value: undefined };
      },
      return: async () => {
        this.closed = true;
        return { done: true, value: undefined };
      },
    };
  }
}

describe('a new file', () => {
  it('has all of its source, of which nothing is open then', async () => {
    const source = new Source();
    await writeNewFile(join(dir, 'new'), source, 0o600);
    expect(readFileSync(join(dir, 'new'), 'utf8')).toBe('abab');
    expect(source.closed).toBe(true);
  });

  it('leaves its source where it cannot be begun, though nothing of it was read', async () => {
    const source = new Source();
    await expect(writeNewFile(join(dir, 'missing', 'new'), source, 0o600)).rejects.toMatchObject({
      code: 'TARGET_UNUSABLE',
    });
    expect(source).toMatchObject({ left: 2, closed: true });
  });

  it('takes nobody’s place, and leaves nothing beside it', async () => {
    writeFileSync(join(dir, 'there'), 'mine');
    await expect(writeNewFile(join(dir, 'there'), new Source(), 0o600)).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
    });
    expect(readFileSync(join(dir, 'there'), 'utf8')).toBe('mine');
    expect(readdirSync(dir)).toEqual(['there']);
  });
});
