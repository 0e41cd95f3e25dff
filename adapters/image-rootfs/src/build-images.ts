import { link, mkdir, open, readdir, rename, rm, utimes } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { cellPaths } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';
import type { ImageInfo, ImageKind } from '@glovebox/engine';
import { stagedName } from '@glovebox/engine/staging';
import { toolingSources } from '@glovebox/sdk/tooling';
import { type Bundle, type BundleRequest, bundle } from './bundle.ts';
import { type Precompiled, precompile } from './code-cache.ts';
import { type FileContent, type FilePool, moveUsedFiles, openFilePool, type PooledFile } from './file-pool.ts';
import { imageConfig, imageDigest } from './image-config.ts';
import { type ImageIndex, type RecordedFile, recordFile } from './image-index.ts';
import { codeFingerprint, type ImageInputs, nearestManifest, type Program } from './inputs.ts';
import { corrupted, layerDigest, type RecordedEntry } from './layer-tar.ts';
import { guestLayer, type Layer, type LayerEntry, nodeLayer, toolchainLayer } from './layers.ts';
import { findLibraries, type SharedLibrary } from './libraries.ts';
import { typeToolVersions } from './type-tools.ts';
import { verifyImage } from './verify.ts';

export interface BuildSettings {
  /** `<dataDir>/images`. */
  dir: string;
  inputs: ImageInputs;
  previous: ImageIndex | undefined;
  /** `pool`: take files that are in the pool. `nothing`: copy every file anew, and put it in the place of one in the pool. */
  reuse: 'pool' | 'nothing';
  progress: (line: string) => void;
}

type Bundles = Record<'harness' | 'probe' | 'builder' | 'typeChecker' | 'tester' | 'sdk', Bundle>;

/** A layer whose files are in the pool. */
interface PooledLayer {
  layer: Layer;
  record: RecordedEntry[];
  files: Map<string, PooledFile>;
}

/**
 * Make both images and put them in place. They share the layers node and guest; the builder image has one more.
 *
 * All is prepared in a directory of this process and renamed into place, so that a kill leaves no half of an image and
 * two builders at once do no harm: the second finds the image there, checks it, and drops its own.
 */
export async function buildImages(settings: BuildSettings): Promise<ImageIndex> {
  const { dir, inputs, progress } = settings;
  const startedAtMs = Date.now();
  const staging = join(dir, 'staging', stagedName());
  await mkdir(dirname(staging), { recursive: true, mode: 0o700 });
  await mkdir(staging, { mode: 0o700 });
  try {
    const shared = join(dir, 'files');
    const poolDir = settings.reuse === 'pool' ? shared : join(staging, 'files');
    const pool = openFilePool(poolDir, staging);
    progress('bundling the guest');
    const bundles = await makeBundles(inputs, staging);
    const harness = await precompile(bundles.harness.bytes, inputs.node.version, staging);
    progress(`collecting node@${inputs.node.version} and its libraries`);
    const libraries = await findLibraries(inputs.node.path, inputs.systemRoot);
    const files = await recordFiles(inputs, bundles, libraries, startedAtMs);

    const layers: PooledLayer[] = [];
    for (const layer of describeLayers(settings, bundles, harness, libraries))
      layers.push(await poolLayer(layer, pool));
    progress('computing digests');
    const rootfs = await layOut(join(staging, 'builder'), layers);
    const diffIds: string[] = [];
    for (const { record } of layers) diffIds.push(await layerDigest(rootfs, record));
    await layOut(join(staging, 'runtime'), layers.slice(0, 2));

    const images = {
      runtime: await install(settings, 'runtime', join(staging, 'runtime'), layers.slice(0, 2), diffIds),
      builder: await install(settings, 'builder', join(staging, 'builder'), layers, diffIds),
    };
    for (const kind of ['runtime', 'builder']) await rm(join(staging, kind), { recursive: true, force: true });
    if (poolDir !== shared) await moveUsedFiles(poolDir, shared);
    const index: ImageIndex = {
      schema: 'glovebox.images/2',
      images,
      code: codeFingerprint(inputs),
      node: programRecord(inputs.node.version, layers, cellPaths.node),
      esbuild: programRecord(inputs.esbuild.version, layers, cellPaths.esbuild),
      typescript: programRecord(inputs.types.tsc.version, layers, cellPaths.tsc),
      files,
    };
    await writeSynced(join(staging, 'index.json'), `${JSON.stringify(index, null, 1)}\n`);
    await rename(join(staging, 'index.json'), join(dir, 'index.json'));
    await syncDirectory(dir);
    return index;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function makeBundles(inputs: ImageInputs, staging: string): Promise<Bundles> {
  const make = (name: keyof Bundles, format: BundleRequest['format']): Promise<Bundle> =>
    bundle(inputs.esbuild.path, { name, entry: inputs.sources[name], format }, inputs.sourceRoot, staging);
  const all = {
    harness: make('harness', 'cjs'),
    probe: make('probe', 'cjs'),
    builder: make('builder', 'cjs'),
    typeChecker: make('typeChecker', 'cjs'),
    tester: make('tester', 'cjs'),
    sdk: make('sdk', 'esm'),
  };
  // Nothing may still write into the staging directory when it is removed.
  await Promise.allSettled(Object.values(all));
  const made: [string, Bundle][] = [];
  for (const [name, bundled] of Object.entries(all)) made.push([name, await bundled]);
  return Object.fromEntries(made) as Bundles;
}

function describeLayers(
  settings: BuildSettings,
  bundles: Bundles,
  harness: Precompiled,
  libraries: SharedLibrary[],
): Layer[] {
  const { inputs, previous } = settings;
  const contentOf = (name: 'node' | 'esbuild' | 'typescript', { path, version }: Program): FileContent => ({
    source: path,
    ...(previous?.[name].version === version ? { expectedSha256: previous[name].sha256 } : {}),
  });
  const node = nodeLayer(
    { source: contentOf('node', inputs.node), version: inputs.node.version },
    libraries.map((library) => ({ library, content: { source: library.source } })),
  );
  const { stdio, sysprobe } = inputs;
  const guest = guestLayer({ harness, probe: bundles.probe.bytes, stdio, sysprobe }, [node]);
  const toolchain = toolchainLayer(
    {
      builder: bundles.builder.bytes,
      typeChecker: bundles.typeChecker.bytes,
      tester: bundles.tester.bytes,
      esbuild: contentOf('esbuild', inputs.esbuild),
      tsc: contentOf('typescript', inputs.types.tsc),
      types: inputs.types,
      sdk: bundles.sdk.bytes,
      versions: toolVersions(inputs),
    },
    [node, guest],
  );
  return [node, guest, toolchain];
}

async function poolLayer(layer: Layer, pool: FilePool): Promise<PooledLayer> {
  const files = new Map<string, PooledFile>();
  const record: RecordedEntry[] = [];
  for (const entry of layer.entries) {
    if (entry.kind === 'directory') {
      record.push({ kind: 'directory', path: entry.path, mode: entry.mode });
      continue;
    }
    const pooled = await pool.put(entry.content, entry.mode);
    files.set(entry.path, pooled);
    const { sizeBytes, sha256 } = pooled;
    record.push({ kind: 'file', path: entry.path, mode: entry.mode, sizeBytes, sha256 });
  }
  return { layer, record, files };
}

/** Make the root file system of some layers in a new directory. @returns its path. */
async function layOut(imageDir: string, layers: PooledLayer[]): Promise<string> {
  const rootfs = join(imageDir, 'rootfs');
  await mkdir(rootfs, { recursive: true });
  const directories: LayerEntry[] = [{ kind: 'directory', path: '.', mode: 0o755 }];
  for (const { layer, files } of layers) {
    for (const entry of layer.entries) {
      const target = join(rootfs, entry.path);
      const pooled = files.get(entry.path);
      if (pooled !== undefined) {
        await link(pooled.path, target).catch((error: NodeJS.ErrnoException) => {
          // Another builder took it for unused at this very moment.
          throw error.code === 'ENOENT' ? corrupted(entry.path, 'its bytes are gone', error) : error;
        });
      } else {
        await mkdir(target);
        directories.push(entry);
      }
    }
  }
  // At the end, by chmod: mkdir is subject to the umask, and what is put into a directory changes its time.
  for (const { path, mode } of directories.reverse()) {
    const handle = await open(join(rootfs, path));
    await handle.chmod(mode);
    await handle.close();
    await utimes(join(rootfs, path), 0, 0);
  }
  return rootfs;
}

async function install(
  settings: BuildSettings,
  kind: ImageKind,
  staged: string,
  layers: PooledLayer[],
  diffIds: string[],
): Promise<Omit<ImageInfo, 'kind' | 'rootfs'>> {
  const config = imageConfig(
    settings.inputs.architecture,
    layers.map(({ layer }, i) => ({ diffId: diffIds[i] ?? '', createdBy: layer.createdBy })),
  );
  const digest = imageDigest(config);
  await writeSynced(join(staged, 'config.json'), config);
  await writeSynced(join(staged, 'layers.json'), JSON.stringify(layers.map(({ record }) => record)));
  const target = join(settings.dir, digest.slice('sha256:'.length));
  const outcome = await putInPlace(staged, target, digest);
  const before = settings.previous?.images[kind];
  settings.progress(
    `${kind} ${digest} ${before === undefined || before.digest === digest ? outcome : `${outcome}, was ${before.digest}`}`,
  );
  const sizes = layers.flatMap(({ files }) => [...files.values()].map(({ sizeBytes }) => sizeBytes));
  return {
    digest,
    sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
    createdAtMs: outcome === 'unchanged' && before?.digest === digest ? before.createdAtMs : Date.now(),
    contents: contentsOf(settings.inputs, layers),
  };
}

/** An image that is there already stays if it is sound, since cells may be running from it, and is replaced if it is not. */
async function putInPlace(staged: string, target: string, digest: string): Promise<'new' | 'unchanged' | 'repaired'> {
  for (let repaired = false; ; repaired = true) {
    try {
      await rename(staged, target);
      return repaired ? 'repaired' : 'new';
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
    try {
      await verifyImage(target, digest);
      return 'unchanged';
    } catch (error) {
      if (!GloveboxError.is(error, 'IMAGE_CORRUPTED')) throw error;
      await rename(target, `${staged}.damaged`).catch(ignoreMissing);
    }
  }
}

const toolVersions = (inputs: ImageInputs) => ({
  esbuild: inputs.esbuild.version,
  sdk: inputs.sdkVersion,
  ...typeToolVersions(inputs.types),
});

/** Names and versions of programs and of declarations, digests of the rest. */
function contentsOf(inputs: ImageInputs, layers: PooledLayer[]): ImageInfo['contents'] {
  const contents: ImageInfo['contents'] = { node: inputs.node.version };
  if (layers.length > 2) Object.assign(contents, toolVersions(inputs));
  for (const { files } of layers) {
    for (const [path, { sha256 }] of files) {
      // Hundreds of them, and a version says the same.
      if (!path.endsWith('.d.ts')) contents[`/${path}`] = `sha256:${sha256}`;
    }
  }
  return contents;
}

/** Everything whose change makes the images stale: what went into the bundles, the libraries, the code that builds. */
async function recordFiles(
  inputs: ImageInputs,
  bundles: Bundles,
  libraries: SharedLibrary[],
  startedAtMs: number,
): Promise<RecordedFile[]> {
  const sources = [...Object.values(bundles).flatMap((made) => made.inputs), ...toolingSources()];
  const manifests = Object.values(inputs.sources).map((path) => nearestManifest(dirname(path)));
  const adapter = (await readdir(import.meta.dirname)).filter((name) => !name.includes('.test.'));
  const names = new Set([
    ...[...sources, ...manifests].map((path) => `source:${relative(inputs.sourceRoot, path)}`),
    ...libraries.map(({ source }) => `system:${source}`),
    ...adapter.map((name) => `adapter:${name}`),
  ]);
  // What was written while it was being bundled may be in the image as it was before: such a record never fits.
  return [...names]
    .sort()
    .map((name) => recordFile(name, inputs))
    .map((file) => (file.mtimeMs > startedAtMs ? { ...file, sizeBytes: -1 } : file));
}

function programRecord(
  version: string,
  layers: PooledLayer[],
  path: string,
): { version: string; sizeBytes: number; sha256: string } {
  for (const { files } of layers) {
    const pooled = files.get(path.slice(1));
    if (pooled !== undefined) return { version, sizeBytes: pooled.sizeBytes, sha256: pooled.sha256 };
  }
  throw new GloveboxError('INTERNAL', { message: `No layer holds ${path}.` });
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o644);
  try {
    await file.writeFile(text);
    await file.chmod(0o644);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
