import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';
import { imageArchive } from './image-archive.ts';
import { imageConfig, imageDigest } from './image-config.ts';
import { type LayerRecord, layerDigest } from './layer-tar.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'image-archive-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const big = randomBytes(5_000_003);

/** An image of two layers, as a store lays it down. @returns its directory. */
async function makeImage(): Promise<string> {
  const staged = join(home, 'staged');
  const rootfs = join(staged, 'rootfs');
  const layers: LayerRecord[] = [
    [directory('usr'), directory('usr/bin'), file(rootfs, 'usr/bin/program', 0o555, big)],
    [
      directory('etc'),
      file(rootfs, 'etc/empty', 0o444, Buffer.alloc(0)),
      file(rootfs, 'etc/one', 0o444, Buffer.alloc(512, 'x')),
    ],
  ];
  for (const entry of layers.flat()) if (entry.kind === 'directory') chmodSync(join(rootfs, entry.path), entry.mode);
  const ids: { diffId: string; createdBy: string }[] = [];
  for (const record of layers) ids.push({ diffId: await layerDigest(rootfs, record), createdBy: 'test' });
  const config = imageConfig('x64', ids);
  writeFileSync(join(staged, 'config.json'), config);
  writeFileSync(join(staged, 'layers.json'), JSON.stringify(layers));
  const place = join(home, imageDigest(config).slice('sha256:'.length));
  renameSync(staged, place);
  return place;
}

const directory = (path: string): LayerRecord[number] => ({ kind: 'directory', path, mode: 0o755 });

function file(rootfs: string, path: string, mode: number, bytes: Uint8Array): LayerRecord[number] {
  mkdirSync(dirname(join(rootfs, path)), { recursive: true });
  writeFileSync(join(rootfs, path), bytes);
  chmodSync(join(rootfs, path), mode);
  return { kind: 'file', path, mode, sizeBytes: bytes.length, sha256: sha256(bytes) };
}

/** All of it, and how it ended. */
async function read(imageDir: string): Promise<{ chunks: Uint8Array[]; error: unknown }> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of imageArchive(imageDir)) chunks.push(chunk);
    return { chunks, error: undefined };
  } catch (error) {
    return { chunks, error };
  }
}

describe('the archive of an image', () => {
  it('is a tar of the config, named by the digest, of layers with the digests that it names, and of a manifest', async () => {
    const imageDir = await makeImage();
    const { chunks, error } = await read(imageDir);
    expect(error).toBeUndefined();
    const archive = join(home, 'image.tar');
    writeFileSync(archive, Buffer.concat(chunks));
    const extract = (name: string): Buffer => execFileSync('tar', ['-xOf', archive, name], { maxBuffer: 1 << 30 });
    const [{ Config, RepoTags, Layers }] = JSON.parse(extract('manifest.json').toString()) as [
      { Config: string; RepoTags: null; Layers: string[] },
    ];
    const names = execFileSync('tar', ['-tf', archive], { encoding: 'utf8' }).trim().split('\n');
    expect(names.sort()).toEqual([Config, ...Layers, 'manifest.json'].sort());
    expect(RepoTags).toBeNull();
    expect(Config).toBe(`${sha256(extract(Config))}.json`);
    expect(imageDir.endsWith(sha256(extract(Config)))).toBe(true);
    const { rootfs } = JSON.parse(extract(Config).toString()) as { rootfs: { diff_ids: string[] } };
    expect(Layers.map((name) => `sha256:${sha256(extract(name))}`)).toEqual(rootfs.diff_ids);
    writeFileSync(join(home, 'layer.tar'), extract(Layers[0] ?? ''));
    const program = execFileSync('tar', ['-xOf', join(home, 'layer.tar'), 'usr/bin/program'], { maxBuffer: 1 << 30 });
    expect(program.equals(big)).toBe(true);
  });

  it('comes in chunks that are never empty, never large, and stay what they were', async () => {
    const { chunks } = await read(await makeImage());
    const sizes = chunks.map(({ length }) => length);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024);
    expect(Buffer.concat(chunks).includes(big)).toBe(true);
    expect(Buffer.concat(chunks).length % 512).toBe(0);
  });

  it.each<[string, (imageDir: string) => void]>([
    ['a byte of a file', (dir) => changeByte(join(dir, 'rootfs/usr/bin/program'))],
    ['a mode', (dir) => chmodSync(join(dir, 'rootfs/usr/bin/program'), 0o755)],
    ['a file that is gone', (dir) => rmSync(join(dir, 'rootfs/usr/bin/program'))],
    ['the config', (dir) => changeByte(join(dir, 'config.json'))],
    ['a record that is gone', (dir) => rmSync(join(dir, 'layers.json'))],
    ['a record without a file', (dir) => changeRecord(dir, (layers) => layers[0]?.pop())],
    ['a record without a layer', (dir) => changeRecord(dir, (layers) => layers.pop())],
    [
      'a file together with its record',
      (dir) => {
        const path = join(dir, 'rootfs/usr/bin/program');
        changeByte(path);
        changeRecord(dir, ([layer]) => Object.assign(layer?.at(-1) ?? {}, { sha256: sha256(readFileSync(path)) }));
      },
    ],
  ])('breaks off before it is one, where something has changed: %s', async (_, change) => {
    const imageDir = await makeImage();
    change(imageDir);
    const { chunks, error } = await read(imageDir);
    expect(error).toMatchObject({ code: 'IMAGE_CORRUPTED' });
    expect(Buffer.concat(chunks).includes('manifest.json')).toBe(false);
  });
});

describe('an engine that takes the archive', () => {
  let engine: DockerEngine;
  beforeAll(async () => {
    engine = await startDockerEngine();
  });
  afterAll(() => engine.stop());

  /** One request to it. */
  const ask = (
    method: string,
    path: string,
    body?: AsyncIterable<Uint8Array>,
  ): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const request = httpRequest({ socketPath: engine.socketPath, method, path }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on('error', reject);
      if (body === undefined) request.end();
      else pipeline(Readable.from(body), request).catch(reject);
    });

  it('knows the image by its digest', async () => {
    const imageDir = await makeImage();
    const digest = `sha256:${basename(imageDir)}`;
    expect((await ask('GET', `/images/${digest}/json`)).status).toBe(404);
    expect(await ask('POST', '/images/load?quiet=1', imageArchive(imageDir))).toMatchObject({ status: 200 });
    const { status, text } = await ask('GET', `/images/${digest}/json`);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ Id: digest, RepoTags: [] });
  });
});

function changeByte(path: string): void {
  const bytes = readFileSync(path);
  bytes[100] = (bytes[100] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

function changeRecord(imageDir: string, change: (layers: LayerRecord[]) => void): void {
  const path = join(imageDir, 'layers.json');
  const layers = JSON.parse(readFileSync(path, 'utf8')) as LayerRecord[];
  change(layers);
  writeFileSync(path, JSON.stringify(layers));
}
