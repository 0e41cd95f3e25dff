import { GloveboxError } from '@glovebox/contract';

/** The package URL of an npm package (github.com/package-url/purl-spec), such as `pkg:npm/%40scope/name@1.0.0`. */
export function packageUrl(name: string, version: string): string {
  return `pkg:npm/${name.split('/').map(encodeURIComponent).join('/')}@${encodeURIComponent(version)}`;
}

/**
 * The hash of a Subresource Integrity, in hex.
 *
 * @throws GloveboxError `INTERNAL` when it is not one sha512 hash.
 */
export function sha512HexOf(integrity: string): string {
  const base64 = /^sha512-([A-Za-z0-9+/]{86}==)$/.exec(integrity)?.[1];
  if (base64 === undefined) {
    throw new GloveboxError('INTERNAL', { message: `${integrity.slice(0, 200)} is not a sha512 integrity` });
  }
  return Buffer.from(base64, 'base64').toString('hex');
}
