import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { DriverOverrides } from '../../apps/cli/src/local-engine.ts';
import { openTestEngine, type TestEngine } from './engine.ts';
import { differences, type Residue, readResidue } from './residue.ts';
import { whyNotHere } from './test-driver.ts';

/**
 * One engine for the tests of a file. After them nothing of its cells is left on the host, and in its data directory
 * nothing but what is kept: that is a test too.
 *
 * @returns the engine; to be called in tests only.
 */
export function useEngine(overrides: DriverOverrides = {}): () => TestEngine {
  let opened: TestEngine | undefined;
  let before: Residue;
  const residue = ({ engine, dataDir }: TestEngine): Residue => {
    const all = readResidue({ instance: engine.signer.instance, runDirectory: join(dataDir, 'run') });
    // Others may mount what they like meanwhile.
    return { ...all, mounts: all.mounts.filter((path) => path.startsWith(dataDir)) };
  };
  const reason = whyNotHere(overrides);
  if (reason !== undefined) beforeEach((context) => context.skip(reason));
  beforeAll(async () => {
    opened = await openTestEngine(reason === undefined ? overrides : {});
    before = residue(opened);
  });
  afterAll(async () => {
    if (opened === undefined) return;
    try {
      expect(differences(before, residue(opened))).toEqual([]);
      expect(leftovers(opened.dataDir)).toEqual([]);
    } finally {
      await opened.close();
    }
  });
  return () => {
    if (opened === undefined) throw new Error('the engine is there in tests only');
    return opened;
  };
}

/** What is in a data directory and must not outlive a run: bundles of cells, and files that were being written. */
export function leftovers(dataDir: string): string[] {
  const kept =
    /^(instance\.json|keys|keys\/signing(\.pub)?\.pem|keys\/keys\.json|keys\/retired(\/[0-9a-f]{64}\.pub\.pem)?|glovebox\.db(-wal|-shm)?|run|run\/cells|run\/owner(\/[^/]+)?|cache|cache\/(bundles|checks|packages)|cache\/packages\/.+|cache\/(bundles|checks)\/[0-9a-f]{64}|artifacts|artifacts\/(oci-layout|index\.json|\.staging|\.claims|blobs(\/sha256(\/[0-9a-f]{64})?)?)|blobs|blobs\/(sha256|staging)|blobs\/sha256\/[0-9a-f]{2}(\/[0-9a-f]{64})?)$/;
  const paths = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => !kept.test(path)).sort();
}
