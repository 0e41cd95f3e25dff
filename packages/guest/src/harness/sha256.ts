import { sha256Module } from './sha256-module.ts';

const stateAt = 512;
const blocksAt = 1024;
const blockBytes = 64;
/** What of the module's one page is left for blocks. */
const roomBytes = 64 * 1024 - blocksAt;

interface Exports {
  memory: { buffer: ArrayBuffer };
  blocks(address: number, count: number): void;
}

/** The part of the global that is used here; it has no types in Node's. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Module: new (bytes: Uint8Array) => object; Instance: new (module: object) => { exports: Exports } };
};

/**
 * Hex of the SHA-256 of `bytes`.
 *
 * `node:crypto` takes 7 to 10 ms to load, a fifth of the whole start of Node.js, and JavaScript that is not warm about as
 * long for a small bundle; this takes one. For before author code is there: it uses no primordials.
 */
export function sha256Hex(bytes: Uint8Array): string {
  const module = new WebAssembly.Module(Buffer.from(sha256Module, 'base64'));
  const { memory, blocks } = new WebAssembly.Instance(module).exports;
  const room = new Uint8Array(memory.buffer, blocksAt, roomBytes);
  const wholeBytes = bytes.length - (bytes.length % blockBytes);
  for (let from = 0; from < wholeBytes; from += roomBytes) {
    const part = bytes.subarray(from, Math.min(from + roomBytes, wholeBytes));
    room.set(part);
    blocks(blocksAt, part.length / blockBytes);
  }
  const last = lastBlocks(bytes, wholeBytes);
  room.set(last);
  blocks(blocksAt, last.length / blockBytes);
  return hexOf(new DataView(memory.buffer, stateAt, 32));
}

/** What does not fill a block, and the padding: a bit, zeros, and the length in bits. */
function lastBlocks(bytes: Uint8Array, wholeBytes: number): Uint8Array {
  const rest = bytes.subarray(wholeBytes);
  const last = new Uint8Array(rest.length + 9 <= blockBytes ? blockBytes : 2 * blockBytes);
  last.set(rest);
  last[rest.length] = 0x80;
  new DataView(last.buffer).setBigUint64(last.length - 8, BigInt(bytes.length) * 8n);
  return last;
}

function hexOf(state: DataView): string {
  let text = '';
  for (let i = 0; i < 8; i++)
    text += state
      .getUint32(4 * i, true)
      .toString(16)
      .padStart(8, '0');
  return text;
}
