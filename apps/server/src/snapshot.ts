import { fromFindings, GloveboxError, type Snapshot } from '@glovebox/contract';

/**
 * The files that were uploaded.
 *
 * @throws GloveboxError `PACKAGE_INVALID` with the findings, where they are no tree of files within the limits.
 */
export async function filesOf(snapshot: Snapshot): Promise<ReadonlyMap<string, Uint8Array>> {
  const { gatherSnapshot } = await import('@glovebox/validate');
  const gathered = await gatherSnapshot(entriesOf(snapshot));
  if (gathered.ok) return gathered.files;
  throw new GloveboxError('PACKAGE_INVALID', fromFindings(gathered.findings));
}

/** The same, not yet held to any rule. */
export const entriesOf = ({ files }: Snapshot): (readonly [path: string, bytes: Uint8Array])[] =>
  files.map(({ path, contentBase64 }) => [path, bytesOf(contentBase64)]);

/** Not a view of the pool that small buffers share: what is kept of a file would keep the pool. */
const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'));
