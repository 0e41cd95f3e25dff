import { GloveboxError } from '@glovebox/contract';

export type TarEntry =
  | { kind: 'directory'; path: string; mode: number }
  | { kind: 'file'; path: string; mode: number; sizeBytes: number };

export const tarBlockBytes = 512;

/** Two blocks of zeros end an archive. */
export const tarEnd: Uint8Array = new Uint8Array(2 * tarBlockBytes);

/**
 * The POSIX ustar header of an entry, the same for the same entry on any machine at any time: owner 0, group 0, no
 * names, time 0. Paths are relative, with `/`; that of a directory gets the slash at its end here.
 */
export function tarHeader(entry: TarEntry): Uint8Array {
  const header = Buffer.alloc(tarBlockBytes);
  const { name, prefix } = splitPath(entry.kind === 'directory' ? `${entry.path}/` : entry.path);
  const octal = (value: number, at: number, digits: number): void => {
    header.write(value.toString(8).padStart(digits, '0'), at, 'latin1');
  };
  header.write(name, 0, 'utf8');
  octal(entry.mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(entry.kind === 'file' ? entry.sizeBytes : 0, 124, 11);
  octal(0, 136, 11);
  header.write(entry.kind === 'directory' ? '5' : '0', 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  octal(0, 329, 7);
  octal(0, 337, 7);
  header.write(prefix, 345, 'utf8');
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** The zeros that fill the last block of a file's bytes. */
export const tarPadding = (sizeBytes: number): Uint8Array =>
  new Uint8Array((tarBlockBytes - (sizeBytes % tarBlockBytes)) % tarBlockBytes);

/** ustar has 100 bytes for the name and 155 for what comes before a slash of the path. */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  for (let at = path.indexOf('/'); at > 0 && at < path.length - 1; at = path.indexOf('/', at + 1)) {
    const name = path.slice(at + 1);
    const prefix = path.slice(0, at);
    if (Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { name, prefix };
  }
  throw new GloveboxError('IMAGE_BUILD_FAILED', { message: `The path ${path} is too long for a layer.` });
}
