import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { imageConfig, imageDigest } from './image-config.ts';
import { type LayerRecord, layerDigest } from './layer-tar.ts';
import { checkSeal } from './seal.ts';

const sha256OfHello = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
let image: string;
let digest: string;
beforeEach(async () => {
  image = mkdtempSync(join(tmpdir(), 'glovebox-seal-'));
  mkdirSync(join(image, 'rootfs/bin'), { recursive: true, mode: 0o755 });
  writeFileSync(join(image, 'rootfs/bin/hello'), 'hello', { mode: 0o555 });
  const record: LayerRecord = [
    { kind: 'directory', path: 'bin', mode: 0o755 },
    { kind: 'file', path: 'bin/hello', mode: 0o555, sizeBytes: 5, sha256: sha256OfHello },
  ];
  const diffId = await layerDigest(join(image, 'rootfs'), record);
  const config = imageConfig('x64', [{ diffId, createdBy: 'test' }]);
  digest = imageDigest(config);
  writeFileSync(join(image, 'config.json'), config);
  writeFileSync(join(image, 'layers.json'), JSON.stringify([record]));
});
afterEach(() => rmSync(image, { recursive: true, force: true }));

/** As another process does it, which has seen nothing yet. */
const check = (): Promise<void> => checkSeal(image, digest, new Map());
const sealTime = (): number => statSync(join(image, 'seal')).mtimeMs;

/** As it was in size, mode and time. */
function disguise(path: string, content: string): void {
  const { atimeMs, mtimeMs, mode } = statSync(path);
  chmodSync(path, 0o600);
  writeFileSync(path, content);
  chmodSync(path, mode & 0o7777);
  utimesSync(path, atimeMs / 1000, mtimeMs / 1000);
}

describe('a sealed image', () => {
  const harms: [string, () => void][] = [
    ['another byte, disguised', () => disguise(join(image, 'rootfs/bin/hello'), 'hellO')],
    ['another mode', () => chmodSync(join(image, 'rootfs/bin/hello'), 0o4555)],
    ['a file more', () => writeFileSync(join(image, 'rootfs/bin/more'), '')],
    ['a file less', () => rmSync(join(image, 'rootfs/bin/hello'))],
    [
      'a link in the place of a directory',
      () => {
        rmSync(join(image, 'rootfs/bin'), { recursive: true });
        symlinkSync('/bin', join(image, 'rootfs/bin'));
      },
    ],
  ];

  it.each(harms)('is refused with %s, by who has checked it before and by others, again and again', async (_, harm) => {
    const known = new Map<string, string>();
    await checkSeal(image, digest, known);
    await checkSeal(image, digest, known);
    await check();
    harm();
    for (const again of [() => checkSeal(image, digest, known), check, check])
      await expect(again()).rejects.toMatchObject({ code: 'IMAGE_CORRUPTED' });
  });

  it('is read in full once, and not again before something of it is touched', async () => {
    await check();
    const made = sealTime();
    rmSync(join(image, 'layers.json'));
    await check();
    expect(sealTime()).toBe(made);
    disguise(join(image, 'rootfs/bin/hello'), 'hello');
    await expect(check()).rejects.toMatchObject({ code: 'IMAGE_CORRUPTED' });
  });

  it('gets another seal when it was touched and is the same', async () => {
    await check();
    const before = readFileSync(join(image, 'seal'), 'utf8');
    disguise(join(image, 'rootfs/bin/hello'), 'hello');
    await check();
    expect(readFileSync(join(image, 'seal'), 'utf8')).not.toBe(before);
  });
});
