import { createHash } from 'node:crypto';
import { cellEnvironment, cellPaths, cellUid } from '@glovebox/cell';
import canonicalize from 'canonicalize';

const ociArchitectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * The OCI image config (image-spec v1, `config.md`) as canonical JSON. It holds the digest of every layer and no time,
 * so its sha256 identifies the image.
 */
export function imageConfig(architecture: string, layers: { diffId: string; createdBy: string }[]): string {
  const created = '1970-01-01T00:00:00Z';
  return (
    canonicalize({
      architecture: ociArchitectures[architecture] ?? architecture,
      os: 'linux',
      created,
      config: {
        User: `${cellUid}:${cellUid}`,
        Env: Object.entries(cellEnvironment)
          .map(([name, value]) => `${name}=${value}`)
          .sort(),
        Cmd: [cellPaths.node, cellPaths.harness],
        WorkingDir: '/',
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
    }) ?? ''
  );
}

export const imageDigest = (config: string | Uint8Array): string =>
  `sha256:${createHash('sha256').update(config).digest('hex')}`;
