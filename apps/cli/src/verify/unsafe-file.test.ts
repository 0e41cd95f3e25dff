import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openUnsafeFile, readLines, readStart } from './unsafe-file.ts';

const dir = mkdtempSync(join(tmpdir(), 'glovebox-lines-'));
const path = join(dir, 'file');
afterAll(() => rmSync(dir, { recursive: true }));

const tooLong = (line: number): Error => new Error(`line ${line}`);

async function linesOf(text: string, maxLineBytes = 1 << 20): Promise<string[]> {
  writeFileSync(path, text);
  const file = await open(path);
  try {
    return await Array.fromAsync(readLines(file, maxLineBytes, tooLong));
  } finally {
    await file.close();
  }
}

describe('the lines of a file', () => {
  it('are what stands between line feeds, wherever the pieces that are read begin and end', async () => {
    const chunk = 64 * 1024;
    const length = fc.oneof(fc.nat(5), fc.integer({ min: chunk - 3, max: chunk + 3 }), fc.nat(3 * chunk));
    let long = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(length, { maxLength: 6 }), fc.boolean(), async (lengths, ended) => {
        const lines = lengths.map((count, i) => `${i}${'é'.repeat(count / 2)}`);
        if (lines.some((line) => Buffer.byteLength(line) > chunk)) long++;
        const text = lines.join('\n');
        expect(await linesOf(ended && lines.length > 0 ? `${text}\n` : text)).toEqual(lines);
      }),
      { seed: 1, numRuns: 60 },
    );
    expect(long).toBeGreaterThan(5);
  });

  it('may be empty, and an empty file has none', async () => {
    expect(await linesOf('a\n\nb\n')).toEqual(['a', '', 'b']);
    expect(await linesOf('')).toEqual([]);
  });

  it('have a length up to the limit, and one byte more is refused by the number of the line', async () => {
    expect(await linesOf(`a\n${'x'.repeat(200_000)}\n`, 200_000)).toHaveLength(2);
    await expect(linesOf(`a\n${'x'.repeat(200_001)}\n`, 200_000)).rejects.toThrow('line 2');
    await expect(linesOf('x'.repeat(200_001), 200_000)).rejects.toThrow('line 1');
  });
});

describe('a file that was handed over', () => {
  it('is read up to a limit, and no further', async () => {
    writeFileSync(path, 'abcdef');
    const file = await openUnsafeFile(path, 'hint');
    if (file === 'directory') throw new Error('it is a file');
    expect([String(await readStart(file, 3)), String(await readStart(file, 100))]).toEqual(['abc', 'abcdef']);
    await file.close();
  });

  it('is told from a directory and from what is neither', async () => {
    expect(await openUnsafeFile(dir, 'hint')).toBe('directory');
    for (const other of ['/dev/zero', join(dir, 'nowhere')])
      await expect(openUnsafeFile(other, 'hint')).rejects.toMatchObject({ code: 'INPUT_UNREADABLE', hint: 'hint' });
  });
});
