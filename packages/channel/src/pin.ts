import type { Duplex } from 'node:stream';
import {
  apply,
  BufferPrototype,
  byteLengthOf,
  defineProperty,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  isView,
  ObjectPrototype,
  ownKeys,
  setPrototypeOf,
} from './primordials.ts';

/**
 * Methods of a socket that do little more than to look up their namesakes on the prototype of all streams, when they are
 * called. Those are pinned in their place.
 */
const thinMethods: readonly PropertyKey[] = ['read', 'end', 'pause', 'resume'];

/**
 * Make a transport deaf to what becomes of the prototypes that it shares with author code: its methods, and those of the
 * objects in which Node.js keeps its state and its handle, become its own. What it pushes and is given to write tells its
 * length without a prototype.
 */
export function pinTransport(transport: Duplex): void {
  const inner = transport as unknown as { _readableState?: unknown; _writableState?: unknown; _handle?: unknown };
  pinMethods(transport);
  if (isObject(inner._readableState)) pinMethods(inner._readableState);
  if (isObject(inner._writableState)) pinMethods(inner._writableState);
  if (isObject(inner._handle)) pinMethods(inner._handle);
  const { push } = transport;
  const pinnedPush = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (isView(chunk)) pinLength(chunk as Uint8Array);
    return apply(push, transport, [chunk, encoding]) as boolean;
  };
  defineProperty(transport, 'push', constant(pinnedPush));
}

/** A view as the streams of Node.js take it without looking at a prototype: a Buffer that knows its length. */
export function pinView(view: Uint8Array): void {
  setPrototypeOf(view, BufferPrototype);
  pinLength(view);
}

/** All that the streams of Node.js ask of a chunk that is a Buffer; the kernel's side reads it without properties. */
function pinLength(view: Uint8Array): void {
  defineProperty(view, 'length', constant(byteLengthOf(view)));
}

function pinMethods(target: object): void {
  let prototype = getPrototypeOf(target) as object | null;
  while (prototype !== null && prototype !== ObjectPrototype) {
    const names = ownKeys(prototype);
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as PropertyKey;
      if (name === 'constructor' || (getOwnPropertyDescriptor(target, name) && !thinMethods.includes(name))) continue;
      defineProperty(target, name, getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor);
    }
    prototype = getPrototypeOf(prototype) as object | null;
  }
}

function constant(value: unknown): PropertyDescriptor {
  return { __proto__: null, value, writable: false, enumerable: false, configurable: true } as PropertyDescriptor;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
