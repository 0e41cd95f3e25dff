import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Of } from '@glovebox/artifact';
import { type Engine, revalidateRelease, revokeRelease, showRelease } from '@glovebox/engine';
import { createImageStore } from '@glovebox/image-rootfs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { defaultCells, type LocalEngine, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { sharedImages } from '../support/engine.ts';
import { author, release, runReference } from '../support/releases.ts';
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
  const config = { dataDir, ...defaultCells, registry: undefined, minimumPackageAgeMs: undefined, extraCa: undefined };
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

it('a release is neither run nor proved again in cells of a class that is weaker than it demands', async () => {
  const { engine } = local;
  await release({ engine, dataDir }, { id: 'demanding', body: 'return 1' });
  // Every release demands `ns`. What is no class is weaker than all.
  const weaker: Engine = { ...engine, cellClass: 'none' as Engine['cellClass'] };
  await expect(runReference(weaker, 'demanding')).rejects.toMatchObject({ code: 'CLASS_TOO_WEAK' });
  const again = revalidateRelease(weaker, { project: 'default', reference: 'demanding@1.0.0', actor: author });
  await expect(again).rejects.toMatchObject({ code: 'CLASS_TOO_WEAK' });
  expect((await runReference(engine, 'demanding')).output).toBe(1);
});

describe('another runtime image', () => {
  const another = sha256Of('another image');
  /** The same files under another digest: what a newer guest or Node.js would be to a release. */
  let upgraded: Engine;
  beforeAll(async () => {
    const { engine } = local;
    const image = await engine.images.current('runtime');
    const nameOf = (digest: string): string => join(dataDir, 'images', digest.slice('sha256:'.length));
    copyImages(nameOf(image.digest), nameOf(another));
    const current: Engine['images']['current'] = async (kind) =>
      kind === 'runtime' ? { ...image, digest: another } : engine.images.current(kind);
    upgraded = { ...engine, images: { ...engine.images, current } };
  });
  const fixture = (output: unknown) => ({
    'fixtures/basic.json': JSON.stringify({ input: { n: 2 }, expect: { output } }),
  });
  const revalidate = (reference: string) =>
    revalidateRelease(upgraded, { project: 'default', reference, actor: 'local:uid=7' });

  it('runs a release once its fixtures gave the same in it, and the old one does not from then on', async () => {
    const { engine } = local;
    const before = await release(
      { engine, dataDir },
      { id: 'doubler', body: 'return ctx.input.n * 2', files: fixture(4) },
    );
    await expect(runReference(upgraded, 'doubler')).rejects.toMatchObject({
      code: 'RUNTIME_IMAGE_CHANGED',
      details: { validatedIn: before.image, current: another },
    });
    expect(await revalidate('doubler@1.0.0')).toMatchObject({
      changed: true,
      release: { ref: before.ref, digest: before.digest, image: another, state: 'active' },
    });
    expect(await revalidate('doubler@1.0.0')).toMatchObject({ changed: false });
    expect((await runReference(upgraded, 'doubler', { inputText: '{"n":21}' })).output).toBe(42);
    await expect(runReference(engine, 'doubler')).rejects.toMatchObject({ code: 'RUNTIME_IMAGE_CHANGED' });
    const { content, problem } = await showRelease(engine, { project: 'default', reference: 'doubler' });
    expect(problem).toBeNull();
    expect(content?.report.checks.map(({ id, state, facts }) => [id, state, facts])).toEqual([
      ['fixtures', 'passed', { fixtures: 1 }],
    ]);
    const [entry] = await engine.audit.list({ action: 'release.revalidated', subject: before.ref, limit: 2 });
    expect(entry).toMatchObject({ actor: 'local:uid=7', details: { from: before.image, to: another } });
  });

  it.each([
    ['gives something else', fixture(5), 'FIXTURE_DIFFERS'],
    ['has no fixture', {}, undefined],
  ])('does not run a release that %s in it, and nothing changes', async (_, files, rule) => {
    const { engine } = local;
    const id = `refused-${rule === undefined ? 'bare' : 'differs'}`;
    const before = await release({ engine, dataDir }, { id, body: 'return ctx.input.n * 2', files });
    const attestations = await engine.artifacts.attestations(before.digest);
    await expect(revalidate(id)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { findings: rule === undefined ? [] : [expect.objectContaining({ rule })] },
    });
    expect(await engine.releases.find('default', id, 'newest')).toEqual(before);
    expect(await engine.artifacts.attestations(before.digest)).toEqual(attestations);
    expect((await runReference(engine, id, { inputText: '{"n":2}' })).output).toBe(4);
  });

  it('is not proved for what is revoked', async () => {
    const { engine } = local;
    await release({ engine, dataDir }, { id: 'revoked-one', body: 'return 4', files: fixture(4) });
    const change = { project: 'default', reference: 'revoked-one@1.0.0', actor: author };
    await revokeRelease(engine, { ...change, reason: 'Bad' });
    await expect(revalidate('revoked-one@1.0.0')).rejects.toMatchObject({ code: 'RELEASE_REVOKED' });
  });
});
