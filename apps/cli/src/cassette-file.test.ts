import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cassetteTarget, writeCassette } from './cassette-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'glovebox-cassette-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const file = () => join(dir, 'fixtures/api.cassette.json');

describe('the file of a recording', () => {
  it('is made in fixtures, which may not be there yet, and nothing is left beside it', async () => {
    const target = await cassetteTarget(dir, 'api', 'refuse');
    expect(existsSync(join(dir, 'fixtures'))).toBe(false);
    await writeCassette(target, 'first');
    expect([readFileSync(file(), 'utf8'), readdirSync(join(dir, 'fixtures'))]).toEqual([
      'first',
      ['api.cassette.json'],
    ]);
  });

  it('is refused before the run where one is there, and replaced whole where that is asked for', async () => {
    await writeCassette(await cassetteTarget(dir, 'api', 'refuse'), 'first');
    await expect(cassetteTarget(dir, 'api', 'refuse')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await writeCassette(await cassetteTarget(dir, 'api', 'replace'), 'second');
    expect([readFileSync(file(), 'utf8'), readdirSync(join(dir, 'fixtures'))]).toEqual([
      'second',
      ['api.cassette.json'],
    ]);
  });

  it('takes nobody’s place that came while the node ran', async () => {
    const target = await cassetteTarget(dir, 'api', 'refuse');
    mkdirSync(join(dir, 'fixtures'));
    writeFileSync(file(), 'of somebody else');
    await expect(writeCassette(target, 'mine')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(readFileSync(file(), 'utf8')).toBe('of somebody else');
  });

  it('never leads elsewhere: a link or a directory in its place is refused, and one that comes later is replaced', async () => {
    mkdirSync(join(dir, 'fixtures'));
    const secret = join(dir, 'secret');
    writeFileSync(secret, 'keep');
    const target = await cassetteTarget(dir, 'api', 'replace');
    symlinkSync(secret, file());
    await expect(cassetteTarget(dir, 'api', 'replace')).rejects.toMatchObject({ code: 'TARGET_UNUSABLE' });
    await writeCassette(target, 'text');
    expect([readFileSync(secret, 'utf8'), readFileSync(file(), 'utf8')]).toEqual(['keep', 'text']);
  });

  it.each([
    ['a link', () => symlinkSync(join(dir, 'elsewhere'), join(dir, 'fixtures'))],
    ['a file', () => writeFileSync(join(dir, 'fixtures'), '')],
  ])('is refused before the run, and after it, where %s is in the place of its folder', async (_what, put) => {
    mkdirSync(join(dir, 'elsewhere'));
    const target = await cassetteTarget(dir, 'api', 'refuse');
    put();
    await expect(cassetteTarget(dir, 'api', 'refuse')).rejects.toMatchObject({ code: 'TARGET_UNUSABLE' });
    await expect(writeCassette(target, 'text')).rejects.toMatchObject({
      code: expect.stringMatching(/^(TARGET_UNUSABLE|ALREADY_EXISTS)$/),
    });
    expect(readdirSync(join(dir, 'elsewhere'))).toEqual([]);
  });

  it.each([['../x'], ['a/b'], [''], ['.x'], ['x'.repeat(101)]])('is not named %j', async (name) => {
    await expect(cassetteTarget(dir, name, 'refuse')).rejects.toMatchObject({ code: 'USAGE' });
    expect((await cassetteTarget(dir, 'x_1.b-c', 'refuse')).file).toBe(join(dir, 'fixtures/x_1.b-c.cassette.json'));
  });
});
