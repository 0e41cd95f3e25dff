/** Hex of the SHA-256 of `bytes`. */
export function sha256Hex(bytes: Uint8Array): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', bytes);
}
