import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stagedName } from '../staging.ts';
import { createBundleCache } from './bundle-cache.ts';

let base: string;
let dir: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'bundle-cache-'));
  dir = join(base, 'cache', 'bundles');
});
afterEach(() => rmSync(base, { recursive: true }));

const key = 'a'.repeat(64);
const other = 'b'.repeat(64);
const entry = {
  bundle: Buffer.from('export default 1;\n'),
  sourceMap: Buffer.from('{"version":3}'),
  metafile: { inputs: { 'src/index.ts': { bytes: 3 } } },
  warnings: [{ rule: 'BUILD_FAILED', severity: 'warning', message: 'm', hint: 'h', place: { file: 'f' } } as const],
};

describe('the bundle cache', () => {
  it('gives back what was put, in a new process of its own as well', async () => {
    await createBundleCache(dir).put(key, entry);
    expect(await createBundleCache(dir).get(key)).toEqual(entry);
    expect(await createBundleCache(dir).get(other)).toBeUndefined();
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, key)).mode & 0o777).toBe(0o600);
  });

  it('misses, and forgets, an entry of which any byte has changed', async () => {
    const cache = createBundleCache(dir);
    await cache.put(key, entry);
    const whole = readFileSync(join(dir, key));
    for (let at = 0; at < whole.length; at += 7) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ 1;
      writeFileSync(join(dir, key), changed);
      expect(await cache.get(key), `byte ${at}`).toBeUndefined();
      expect(readdirSync(dir)).toEqual([]);
    }
    writeFileSync(join(dir, key), whole);
    expect(await cache.get(key)).toEqual(entry);
    writeFileSync(join(dir, key), whole.subarray(0, -1));
    expect(await cache.get(key)).toBeUndefined();
  });

  it('misses an entry under the name of another', async () => {
    const cache = createBundleCache(dir);
    await cache.put(key, entry);
    renameSync(join(dir, key), join(dir, other));
    expect(await cache.get(other)).toBeUndefined();
  });

  it('follows no link and takes no key that is a path', async () => {
    const cache = createBundleCache(dir);
    await cache.put(key, entry);
    renameSync(join(dir, key), join(base, 'elsewhere'));
    symlinkSync(join(base, 'elsewhere'), join(dir, key));
    expect(await cache.get(key)).toBeUndefined();
    expect(await cache.get('../../elsewhere')).toBeUndefined();
    await expect(cache.put('../x', entry)).rejects.toThrow(TypeError);
  });

  it('fails no build when the directory cannot be used', async () => {
    writeFileSync(join(base, 'file'), '');
    const cache = createBundleCache(join(base, 'file', 'bundles'));
    await cache.put(key, entry);
    expect(await cache.get(key)).toBeUndefined();
    chmodSync(base, 0o700);
  });

  it('drops the entries that were used longest ago when it is full, and what killed writers left', async () => {
    const big = { ...entry, bundle: Buffer.alloc(1000) };
    const keys = ['1', '2', '3'].map((digit) => digit.repeat(64));
    const cache = createBundleCache(dir, 5500);
    for (const [i, each] of keys.entries()) {
      await cache.put(each, big);
      utimesSync(join(dir, each), i, i);
    }
    const alive = stagedName();
    const [bootId, namespace, pid, , random] = alive.split('.');
    writeFileSync(join(dir, `${bootId}.${namespace}.${pid}.1.${random}`), '');
    writeFileSync(join(dir, alive), '');
    expect(await cache.get(keys[0] as string)).toBeDefined();
    await cache.put(key, big);
    expect(readdirSync(dir).sort()).toEqual([keys[0], keys[2], key, alive].sort());
  });
});
