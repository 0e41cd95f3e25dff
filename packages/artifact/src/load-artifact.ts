import {
  type ArtifactConfig,
  artifactConfigSchema,
  artifactLimits,
  artifactMediaTypes,
  type Descriptor,
  GloveboxError,
  type Json,
  ociManifestSchema,
  packageRevision,
  parseJson,
} from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';
import { artifactLayers, encodeArtifactManifest } from './oci-manifest.ts';
import { permissionsOf } from './permissions.ts';
import { decodeSnapshot } from './snapshot.ts';

export interface LoadedArtifact {
  digest: string;
  config: ArtifactConfig;
  bundle: Uint8Array;
  sourceMap: Uint8Array;
  /** A tar of the package's files; see encodeSnapshot. */
  source: Uint8Array;
}

/**
 * The bytes of a blob, which nobody has checked yet; undefined where there is none.
 *
 * @throws GloveboxError `ARTIFACT_CORRUPTED` where there is something else, or more than `maxBytes`.
 */
export type ReadBlob = (digest: string, maxBytes: number) => Promise<Uint8Array | undefined>;

const maxConfigDepth = 64;

const layerLimits = {
  bundle: buildLimits.bundleBytes,
  sourceMap: buildLimits.sourceMapBytes,
  source: artifactLimits.sourceBytes,
} as const;

/**
 * Everything of an artifact: each blob against its digest and size; manifest and config in the one form that composeArtifact
 * gives them; the permissions against the manifest that they come from; the source against its revision.
 *
 * @throws GloveboxError `NOT_FOUND` where there is no manifest; `ARTIFACT_CORRUPTED` where bytes are not those of their
 *   digest, or are missing; `ARTIFACT_INVALID` where they are, and are not an artifact.
 */
export async function loadArtifact(digest: string, read: ReadBlob): Promise<LoadedArtifact> {
  const manifestBytes = await read(digest, artifactLimits.manifestBytes);
  if (manifestBytes === undefined) throw new GloveboxError('NOT_FOUND', { message: `There is no artifact ${digest}.` });
  requireDigest(manifestBytes, digest);
  const manifest = readManifest(manifestBytes, digest);
  const blob = async (descriptor: Descriptor, maxBytes: number): Promise<Uint8Array> =>
    readDescribed(descriptor, maxBytes, read);
  const config = readConfig(await blob(manifest.config, artifactLimits.configBytes));
  const [bundle, sourceMap, source] = await Promise.all(
    artifactLayers.map(({ part }, i) => blob(manifest.layers[i] as Descriptor, layerLimits[part])),
  );
  if (bundle === undefined || sourceMap === undefined || source === undefined) throw invalid('a layer is missing');
  checkSource(source, config);
  return { digest, config, bundle, sourceMap, source };
}

/**
 * The bytes that a descriptor names.
 *
 * @throws GloveboxError `ARTIFACT_CORRUPTED`; `ARTIFACT_INVALID` where it names more than `maxBytes`, or another size than
 *   they have.
 */
export async function readDescribed(
  { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
  maxBytes: number,
  read: ReadBlob,
): Promise<Uint8Array> {
  if (size > maxBytes) throw invalid(`${digest} has ${size} bytes; at most ${maxBytes}`);
  const bytes = await read(digest, size);
  if (bytes === undefined) throw corrupted(digest, 'is missing');
  requireDigest(bytes, digest);
  // Other readers go by the size, and would take fewer bytes or refuse what loads here.
  if (bytes.byteLength !== size) throw invalid(`${digest} has ${bytes.byteLength} bytes, not ${size}`);
  return bytes;
}

function requireDigest(bytes: Uint8Array, digest: string): void {
  if (sha256Of(bytes) !== digest) throw corrupted(digest, 'does not have that digest any more');
}

function readManifest(bytes: Uint8Array, digest: string): { config: Descriptor; layers: Descriptor[] } {
  const checked = ociManifestSchema.safeParse(parseUnsafe(bytes, artifactLimits.manifestBytes, 8));
  if (!checked.success) throw invalid(`${digest} is not the manifest of an artifact`);
  const { config, layers } = checked.data;
  const types = [config.mediaType, ...layers.map(({ mediaType }) => mediaType)];
  const wanted = [artifactMediaTypes.config, ...artifactLayers.map(({ mediaType }) => mediaType)];
  // One manifest for one artifact: what it says beside its digests would be said by nobody.
  const canonical = types.join() === wanted.join() ? encodeArtifactManifest(config, layers) : undefined;
  if (canonical === undefined || Buffer.compare(canonical, bytes) !== 0) {
    throw invalid(`${digest} is not the manifest of an artifact`);
  }
  return { config, layers };
}

function readConfig(bytes: Uint8Array): ArtifactConfig {
  const value = parseUnsafe(bytes, artifactLimits.configBytes, maxConfigDepth);
  const checked = artifactConfigSchema.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const path = (issue?.path ?? []).map((step) => `/${String(step)}`).join('');
    throw invalid(`its config does not fit the schema at "${path}"`);
  }
  const config = checked.data;
  // Of what the schema makes of it, so that every default has to be filled in.
  if (canonicalText(config) !== Buffer.from(bytes).toString('utf8'))
    throw invalid('its config is not in canonical form');
  const permissions = canonicalJson(permissionsOf(config.manifest));
  if (canonicalJson(config.permissions) !== permissions || config.permissionsDigest !== sha256Of(permissions)) {
    throw invalid('its permissions are not those of its manifest');
  }
  if (config.id !== config.manifest.id) throw invalid('its id is not that of its manifest');
  return config;
}

/** Undefined for what has none: texts with half a surrogate pair. */
function canonicalText(value: unknown): string | undefined {
  try {
    return canonicalJson(value);
  } catch {
    return undefined;
  }
}

function checkSource(source: Uint8Array, { revision }: ArtifactConfig): void {
  let actual: string;
  try {
    actual = packageRevision(decodeSnapshot(source));
  } catch (error) {
    if (GloveboxError.is(error)) throw invalid(`its source cannot be read: ${error.message}`, error);
    throw error;
  }
  if (actual !== revision) throw invalid('its source is not the revision that it names');
}

/** JSON that passed its digest and may still be anyone's; undefined when it is none. */
export function parseUnsafe(bytes: Uint8Array, maxBytes: number, maxDepth: number): Json | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  const parsed = parseJson(text, { maxBytes, maxDepth });
  return parsed.ok ? parsed.value : undefined;
}

export const corrupted = (digest: string, what: string, cause?: unknown): GloveboxError =>
  new GloveboxError('ARTIFACT_CORRUPTED', { message: `The blob ${digest} ${what}.`, details: { blob: digest }, cause });

export const invalid = (what: string, cause?: unknown): GloveboxError =>
  new GloveboxError('ARTIFACT_INVALID', { message: `The artifact matches its digest, but ${what}.`, cause });
