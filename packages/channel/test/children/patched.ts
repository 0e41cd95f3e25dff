/**
 * The client in a process whose author replaces the built-ins that it can reach, once the channel is up. The host compares
 * what arrives; the exit status tells what this end saw: 0 is right.
 *
 * The first argument says how: `throw` makes every replaced function throw, `lie` makes it return nonsense, `zero` 0. The second, where
 * given, lists what to replace instead of all.
 */
import { EventEmitter } from 'node:events';
import net from 'node:net';
import { Duplex, Readable, Writable } from 'node:stream';
import { type ChannelClient, connectClient } from '../../src/index.ts';

const client = connectClient(new net.Socket({ fd: 3 }));
const payload = Buffer.alloc(300_000, 'payload ');
const small = Buffer.from('{"small":true}');
const [, , manner, only] = process.argv;
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { ownKeys } = Reflect;
const Failure = Error;
const IntrinsicPromise = Promise;
const inside = process as unknown as { reallyExit(code: number): never; _rawDebug(text: string): void };
const { reallyExit: exit, _rawDebug: show } = inside;

/** Sends `body` so often, then sends what comes back to `/mirror`. @returns the status. */
async function call(channel: ChannelClient, path: string, body: Uint8Array, times: number): Promise<number> {
  const stream = channel.open({ method: 'POST', url: `http://control.invalid${path}`, headers: { 'x-a': 'é"' } });
  for (let i = 0; i < times; i++) await stream.write(body);
  stream.end();
  const answer = await stream.response;
  const mirror = channel.open({ method: 'POST', url: 'http://control.invalid/mirror', headers: {} });
  for await (const chunk of stream.body) await mirror.write(chunk);
  mirror.end();
  await mirror.response;
  return answer.status;
}

/** A function that stands in for another, and keeps nothing of it. */
function replacement(name: string): (...args: unknown[]) => unknown {
  if (manner === 'lie') return () => 'nonsense';
  if (manner === 'zero') return () => 0;
  return () => {
    throw new Failure(`replaced ${name}`);
  };
}

/**
 * What Node.js itself calls around every callback, so that nothing at all runs without it: pop of arrays and, where it
 * throws, length of typed arrays. And prepareStackTrace: it is called for each error and hides it here.
 */
const spared = [
  'constructor',
  'prototype',
  '__proto__',
  'pop',
  'prepareStackTrace',
  manner === 'throw' ? 'TypedArray.prototype.length' : '',
];

function isSpared(name: string, full: string): boolean {
  for (let i = 0; i < spared.length; i++) if (spared[i] === name || spared[i] === full) return true;
  return false;
}

function replaceMethods(target: object, label: string): void {
  const names = ownKeys(target);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    if (typeof name === 'symbol' || isSpared(name, `${label}.${name}`)) continue;
    const found = getOwnPropertyDescriptor(target, name);
    if (!found?.configurable) continue;
    const value = replacement(`${label}.${name}`);
    if (typeof found.value === 'function') define(target, name, value);
    else if (found.get) defineProperty(target, name, { __proto__: null, ...found, get: value } as PropertyDescriptor);
  }
}

function define(target: object, name: string, value: unknown): void {
  defineProperty(target, name, { __proto__: null, value, writable: true, configurable: true } as PropertyDescriptor);
}

/** The promise of an async function of this test, made as independent as those of the channel are. */
function own<T>(promise: Promise<T>): Promise<T> {
  define(promise, 'constructor', IntrinsicPromise);
  return promise;
}

const before = await call(client, '/before', small, 1);

const idle = new net.Socket() as unknown as { _readableState: object; _writableState: object };
const names = {
  globals: [
    'AbortController',
    'Array',
    'ArrayBuffer',
    'Buffer',
    'Error',
    'Float64Array',
    'JSON',
    'Map',
    'Math',
    'Number',
    'Object',
    'Promise',
    'Reflect',
    'Set',
    'String',
    'Symbol',
    'TypeError',
    'Uint8Array',
    'WeakMap',
    'clearTimeout',
    'performance',
    'queueMicrotask',
    'setImmediate',
    'setTimeout',
  ],
  pollution: ['then', 'toJSON', 'kind', 'next', 'return', 'done', 'code', 'status', 'headers', 'id', 'length'],
};
const prototypes: [object, string][] = [
  [net.Socket.prototype, 'Socket.prototype'],
  [Duplex.prototype, 'Duplex.prototype'],
  [Readable.prototype, 'Readable.prototype'],
  [Writable.prototype, 'Writable.prototype'],
  [EventEmitter.prototype, 'EventEmitter.prototype'],
  [getPrototypeOf(idle._readableState), 'ReadableState.prototype'],
  [getPrototypeOf(idle._writableState), 'WritableState.prototype'],
  [Buffer.prototype, 'Buffer.prototype'],
  [Uint8Array.prototype, 'Uint8Array.prototype'],
  [getPrototypeOf(Uint8Array.prototype), 'TypedArray.prototype'],
  [ArrayBuffer.prototype, 'ArrayBuffer.prototype'],
  [Float64Array.prototype, 'Float64Array.prototype'],
  [Array.prototype, 'Array.prototype'],
  [getPrototypeOf([][Symbol.iterator]()), 'ArrayIterator.prototype'],
  [Map.prototype, 'Map.prototype'],
  [Set.prototype, 'Set.prototype'],
  [WeakMap.prototype, 'WeakMap.prototype'],
  [String.prototype, 'String.prototype'],
  [Number.prototype, 'Number.prototype'],
  [RegExp.prototype, 'RegExp.prototype'],
  [Symbol.prototype, 'Symbol.prototype'],
  [Error.prototype, 'Error.prototype'],
  [Promise.prototype, 'Promise.prototype'],
  [Function.prototype, 'Function.prototype'],
  [Array, 'Array'],
  [ArrayBuffer, 'ArrayBuffer'],
  [Buffer, 'Buffer'],
  [String, 'String'],
  [Number, 'Number'],
  [Error, 'Error'],
  [Promise, 'Promise'],
  [Math, 'Math'],
  [JSON, 'JSON'],
  [Symbol, 'Symbol'],
  [Reflect, 'Reflect'],
  [Object, 'Object'],
];
const { prototype: promisePrototype } = Promise;
const { prototype: objectPrototype } = Object;
const world = globalThis;
const self = process;
// An error that is thrown has to reach the exit status.
define(self, 'emit', self.emit);

const onlyThese = only?.split(',');
function isDue(name: string): boolean {
  if (!onlyThese) return true;
  for (let i = 0; i < onlyThese.length; i++) if (onlyThese[i] === name) return true;
  return false;
}
for (let i = 0; i < prototypes.length; i++) {
  const entry = prototypes[i] as [object, string];
  if (isDue(entry[1])) replaceMethods(entry[0], entry[1]);
}
if (isDue('Promise.prototype.constructor')) define(promisePrototype, 'constructor', replacement('constructor'));
// Where it throws, the streams of Node.js throw too.
if (isDue('process.nextTick') && manner !== 'throw') define(self, 'nextTick', replacement('nextTick'));
if (isDue('process.hrtime')) define(self, 'hrtime', replacement('hrtime'));
for (let i = 0; i < names.globals.length; i++) {
  const name = names.globals[i] as string;
  if (isDue('globals') || isDue(`globalThis.${name}`)) define(world, name, replacement(name));
}
for (let i = 0; i < names.pollution.length; i++) {
  const name = names.pollution[i] as string;
  if (isDue('pollution') || isDue(`Object.prototype.${name}`))
    define(objectPrototype, name, replacement(`Object.prototype.${name}`));
}

let status = -1;
try {
  status = (await own(call(client, '/after', payload, 10))) + (await own(call(client, '/after', small, 3)));
} catch (error) {
  show((error as Error).stack as string);
}
client.close();
const { kind } = await client.ended;
exit(status === 400 && before === 200 && kind === 'closed' ? 0 : 7);
