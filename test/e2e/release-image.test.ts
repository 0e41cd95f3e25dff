import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createImageStore } from '@glovebox/image-rootfs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type LocalEngine, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { sharedImages } from '../support/engine.ts';
import { release, runReference } from '../support/releases.ts';
import { copyImages } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

/** With images of its own, so that they can be taken away. */
let local: LocalEngine;
let dir: string;
let dataDir: string;
beforeAll(async () => {
  await createImageStore({ dataDir: sharedImages }).build({});
  dir = mkdtempSync(join(tmpdir(), 'glovebox-pruned-'));
  dataDir = join(dir, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  copyImages(join(sharedImages, 'images'), join(dataDir, 'images'));
  const config = { dataDir, runtime: 'auto', registry: undefined, extraCa: undefined };
  local = await openLocalEngine(config, {}, { imagesDir: dataDir });
});
afterAll(async () => {
  await local?.close();
  rmSync(dir, { recursive: true, force: true });
});

it('a release whose image was pruned runs: the image is made again, to the same digest', async () => {
  const { engine } = local;
  const { image } = await release({ engine, dataDir }, { body: `return 'ran'` });
  const { rootfs } = await engine.images.current('runtime');
  rmSync(join(rootfs, '..'), { recursive: true });
  await expect(engine.images.current('runtime')).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
  const result = await runReference(engine, 'test-node');
  expect([result.state, result.output]).toEqual(['SUCCEEDED', 'ran']);
  expect((await engine.images.verify('runtime')).digest).toBe(image);
});
