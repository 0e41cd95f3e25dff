/** What a file is by its first bytes, whatever its name says. */
export function binaryKind(bytes: Uint8Array): 'native' | 'webassembly' | undefined {
  if (startsWith(bytes, 0x7f, 0x45, 0x4c, 0x46)) return 'native';
  if (startsWith(bytes, 0x00, 0x61, 0x73, 0x6d)) return 'webassembly';
  return undefined;
}

/** Whether Node.js would load a file of this name as native code. */
export function isAddonName(path: string): boolean {
  return path.toLowerCase().endsWith('.node');
}

function startsWith(bytes: Uint8Array, ...magic: number[]): boolean {
  return magic.every((byte, i) => bytes[i] === byte);
}
