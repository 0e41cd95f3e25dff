import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBundleCache } from '../bundle/bundle-cache.ts';
import { createCheckCache } from './check-cache.ts';
import { findVerdict, keepVerdict } from './verdicts.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'check-cache-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const key = 'a'.repeat(64);
const other = 'b'.repeat(64);

describe('the check cache', () => {
  it('gives back what was put, in another process as well, and knows nothing else', async () => {
    await createCheckCache(dir).put(key, 'é\n{}');
    expect(await createCheckCache(dir).get(key)).toBe('é\n{}');
    expect(await createCheckCache(dir).get(other)).toBeUndefined();
    expect(await createCheckCache(dir).get('../x')).toBeUndefined();
  });

  it('misses, and forgets, an entry of which any byte has changed, or that has another name', async () => {
    const cache = createCheckCache(dir);
    await cache.put(key, 'passed');
    const whole = readFileSync(join(dir, key));
    for (let at = 0; at < whole.length; at += 3) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ 1;
      writeFileSync(join(dir, key), changed);
      expect(await cache.get(key), `byte ${at}`).toBeUndefined();
      expect(readdirSync(dir)).toEqual([]);
    }
    writeFileSync(join(dir, key), Buffer.concat([whole, Buffer.from('x')]));
    expect(await cache.get(key)).toBeUndefined();
    writeFileSync(join(dir, key), whole);
    renameSync(join(dir, key), join(dir, other));
    expect(await cache.get(other)).toBeUndefined();
  });

  it('takes no entry of another cache', async () => {
    const bundle = { bundle: Buffer.from('x'), sourceMap: Buffer.from('y'), metafile: {}, warnings: [] };
    await createBundleCache(dir).put(key, bundle);
    expect(await createCheckCache(dir).get(key)).toBeUndefined();
  });
});

describe('a verdict', () => {
  it('is kept when it is a pass, with findings and facts', async () => {
    const cache = createCheckCache(dir);
    const findings = [{ rule: 'BUILD_FAILED', severity: 'warning', message: 'm', hint: 'h', place: {} } as const];
    await keepVerdict(cache, key, { state: 'passed', findings: [...findings], facts: { tests: 2 } });
    expect(await findVerdict(cache, key)).toEqual({ state: 'passed', findings, facts: { tests: 2 }, cached: true });
  });

  it.each(['failed', 'unavailable', 'cancelled', 'skipped'] as const)('is not kept when it is %s', async (state) => {
    const cache = createCheckCache(dir);
    await keepVerdict(cache, key, { state, findings: [], facts: {} });
    expect(await findVerdict(cache, key)).toBeUndefined();
  });
});
