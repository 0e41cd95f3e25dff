import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NodePackage } from '../ports.ts';
import { codeOf, digestOfPackages, judgingCode } from './judging-code.ts';
import { buildVerdictKey, fixturesKey, staticKey, testsKey, typesKey } from './verdicts.ts';

const image = `sha256:${'7'.repeat(64)}`;
const packageOf = (files: { [path: string]: string }): NodePackage =>
  ({
    files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
    revision: JSON.stringify(files),
    dependencies: [],
    devDependencies: [],
  }) as unknown as NodePackage;

describe('the key of a type check', () => {
  const keyOf = (files: { [path: string]: string }): string => typesKey(packageOf(files), image);

  it.each(['src/a.ts', 'src/A.TS', 'src/a.MTS', 'src/a.Json', 'src/a.D.TS', 'src/a.jsx'])('changes with %s', (path) => {
    expect(keyOf({ [path]: '1' })).not.toBe(keyOf({ [path]: '2' }));
    expect(keyOf({ [path]: '1' })).toBe(keyOf({ [path]: '1' }));
  });

  it('does not change with what no type checker reads', () => {
    expect(keyOf({ 'README.md': '1' })).toBe(keyOf({ 'README.md': '2' }));
  });
});

describe('the code that judges', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'glovebox-judging-'));
    mkdirSync(join(dir, 'src', 'deep'), { recursive: true });
    writeFileSync(join(dir, 'package.json'), '{}');
    writeFileSync(join(dir, 'src', 'deep', 'check.ts'), 'export const a = 1;\n');
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('is another one after any change of a source or of what it depends on, but not of a test', () => {
    const before = digestOfPackages([dir], 'v26');
    writeFileSync(join(dir, 'src', 'deep', 'check.test.ts'), 'it()');
    expect(digestOfPackages([dir], 'v26')).toBe(before);
    const seen = new Set([before, digestOfPackages([dir], 'v27'), digestOfPackages([dir, dir], 'v26')]);
    writeFileSync(join(dir, 'package.json'), '{"dependencies":{}}');
    seen.add(digestOfPackages([dir], 'v26'));
    cpSync(join(dir, 'src', 'deep'), join(dir, 'src', 'other'), { recursive: true });
    seen.add(digestOfPackages([dir], 'v26'));
    writeFileSync(join(dir, 'src', 'deep', 'check.ts'), 'export const a = 2;\n');
    seen.add(digestOfPackages([dir], 'v26'));
    expect(seen.size).toBe(6);
  });

  it('is that of one process alone where there are no sources', () => {
    writeFileSync(join(dir, 'package.json'), '{"dependencies":{}}');
    expect(codeOf(dir)).toBe(codeOf(dir));
    rmSync(join(dir, 'src'), { recursive: true });
    expect(codeOf(dir)).not.toBe(codeOf(dir));
  });

  it('stands beside what this host demands of packages, in the key of what is read', () => {
    const keys = [undefined, 60_000, 120_000].map((minimumAgeMs) => staticKey('r', [], { minimumAgeMs }));
    expect(new Set(keys).size).toBe(3);
    expect(staticKey('r', [], { minimumAgeMs: 60_000 })).toBe(keys[1]);
  });

  it('stands beside the isolation class where author code runs, and there alone', () => {
    const pkg = packageOf({ 'node.json': '{}' });
    expect(testsKey(pkg, image, 'gvisor')).not.toBe(testsKey(pkg, image, 'ns'));
    expect(fixturesKey(pkg, image, image, 'gvisor')).not.toBe(fixturesKey(pkg, image, image, 'ns'));
  });

  it('is part of every key', () => {
    const pkg = packageOf({ 'node.json': '{}' });
    const keys = (code: string): string[] => [
      staticKey('r', [], { minimumAgeMs: undefined }, code),
      typesKey(pkg, image, code),
      testsKey(pkg, image, 'ns', code),
      buildVerdictKey(pkg, image, code),
      fixturesKey(pkg, image, image, 'ns', code),
    ];
    expect(judgingCode()).toMatch(/^[0-9a-f]{64}$/);
    expect(keys(judgingCode())).toEqual([
      staticKey('r', [], { minimumAgeMs: undefined }),
      typesKey(pkg, image),
      testsKey(pkg, image, 'ns'),
      buildVerdictKey(pkg, image),
      fixturesKey(pkg, image, image, 'ns'),
    ]);
    expect(new Set([...keys('one'), ...keys('another')]).size).toBe(10);
  });
});
