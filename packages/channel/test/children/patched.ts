/**
 * The client in a process whose author replaces the built-ins that it can reach, after the channel is up. What the channel
 * then does is judged by the host. The first argument says how: `throw` makes every replaced function throw, `lie` makes it
 * return nonsense.
 */
import { EventEmitter } from 'node:events';
import net from 'node:net';
import { Duplex, Readable, Writable } from 'node:stream';
import { type ChannelClient, connectClient } from '../../src/index.ts';

const client = connectClient(new net.Socket({ fd: 3 }));
const payload = Buffer.alloc(300_000, 'payload ');
const small = Buffer.from('{"small":true}');
const manner = process.argv[2];
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { ownKeys } = Reflect;
const Failure = Error;
const exit = (process as unknown as { reallyExit: (code: number) => never }).reallyExit;
const rawWrite = (process as unknown as { _rawDebug: (t: string) => void })._rawDebug;

/** Sends `body` so often, then sends what comes back to `/mirror`: the host compares. @returns the status. */
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
  return manner === 'throw'
    ? () => {
        throw new Failure(`replaced ${name}`);
      }
    : () => 'nonsense';
}

const spared = ['constructor', 'length', 'name', 'prototype', 'caller', 'callee', 'arguments', '__proto__'];

function replaceAll(target: object, label: string): void {
  const names = ownKeys(target);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    if (typeof name === 'symbol' || isSpared(name)) continue;
    const found = getOwnPropertyDescriptor(target, name);
    if (!found?.configurable) continue;
    const value = replacement(`${label}.${name}`);
    if (typeof found.value === 'function')
      defineProperty(target, name, { __proto__: null, ...found, value } as PropertyDescriptor);
    else if (found.get) defineProperty(target, name, { __proto__: null, ...found, get: value } as PropertyDescriptor);
  }
}

function isSpared(name: string): boolean {
  for (let i = 0; i < spared.length; i++) if (spared[i] === name) return true;
  return false;
}

const before = await call(client, '/before', small, 1);

// What the next lines need is taken above: from here on it may be gone.
const typedArray = getPrototypeOf(Uint8Array.prototype) as object;
const arrayIterator = getPrototypeOf([][Symbol.iterator]()) as object;
const promisePrototype = Promise.prototype;
const objectPrototype = Object.prototype;
const probe = new net.Socket();
const states = [
  getPrototypeOf((probe as unknown as { _readableState: object })._readableState),
  getPrototypeOf((probe as unknown as { _writableState: object })._writableState),
] as object[];
const targets: [object, string][] = [
  [net.Socket.prototype, 'Socket.prototype'],
  [Duplex.prototype, 'Duplex.prototype'],
  [Readable.prototype, 'Readable.prototype'],
  [Writable.prototype, 'Writable.prototype'],
  [EventEmitter.prototype, 'EventEmitter.prototype'],
  [states[0] as object, 'ReadableState.prototype'],
  [states[1] as object, 'WritableState.prototype'],
  [Buffer.prototype, 'Buffer.prototype'],
  [Buffer, 'Buffer'],
  [Uint8Array.prototype, 'Uint8Array.prototype'],
  [typedArray, 'TypedArray.prototype'],
  [ArrayBuffer.prototype, 'ArrayBuffer.prototype'],
  [ArrayBuffer, 'ArrayBuffer'],
  [Float64Array.prototype, 'Float64Array.prototype'],
  [Array.prototype, 'Array.prototype'],
  [arrayIterator, 'ArrayIterator.prototype'],
  [Array, 'Array'],
  [Map.prototype, 'Map.prototype'],
  [Set.prototype, 'Set.prototype'],
  [WeakMap.prototype, 'WeakMap.prototype'],
  [String.prototype, 'String.prototype'],
  [String, 'String'],
  [Number.prototype, 'Number.prototype'],
  [Number, 'Number'],
  [Math, 'Math'],
  [JSON, 'JSON'],
  [RegExp.prototype, 'RegExp.prototype'],
  [Symbol, 'Symbol'],
  [Error, 'Error'],
  [Error.prototype, 'Error.prototype'],
  [promisePrototype, 'Promise.prototype'],
  [Promise, 'Promise'],
  [Reflect, 'Reflect'],
  [Object, 'Object'],
  [Function.prototype, 'Function.prototype'],
];
let status = -1;

const only = process.env.ONLY;
for (let i = 0; i < targets.length; i++)
  if (!only || (targets[i] as [object, string])[1] === only)
    replaceAll((targets[i] as [object, string])[0], (targets[i] as [object, string])[1]);
if (!only) {
  const globals = [
    'Promise',
    'Uint8Array',
    'Float64Array',
    'Buffer',
    'JSON',
    'Math',
    'Map',
    'Error',
    'queueMicrotask',
    'setTimeout',
    'setImmediate',
    'clearTimeout',
    'AbortController',
  ];
  for (let i = 0; i < globals.length; i++)
    (globalThis as unknown as { [name: string]: unknown })[globals[i] as string] = replacement(globals[i] as string);
  process.nextTick = replacement('nextTick') as typeof process.nextTick;
  (process as unknown as { hrtime: unknown }).hrtime = replacement('hrtime');
  defineProperty(promisePrototype, 'constructor', {
    __proto__: null,
    value: replacement('Promise'),
    configurable: true,
    writable: true,
  } as PropertyDescriptor);
  const pollution = [
    'then',
    'toJSON',
    'get',
    'set',
    'kind',
    'next',
    'return',
    'done',
    'value',
    'code',
    'writable',
    'enumerable',
  ];
  for (let i = 0; i < pollution.length; i++) {
    if (pollution[i] === 'get' || pollution[i] === 'set') continue;
    defineProperty(
      objectPrototype,
      pollution[i] as string,
      {
        __proto__: null,
        value: replacement(`Object.prototype.${pollution[i]}`),
        configurable: true,
        writable: true,
      } as PropertyDescriptor,
    );
  }
}
try {
  status = (await call(client, '/after', payload, 10)) + (await call(client, '/after', small, 3));
} catch (error) {
  // Told by the exit status: nothing else can be relied on here.
  status = -2;
  if (process.env.SHOW) rawWrite((error as Error).stack as string);
}
client.close();
const end = (await client.ended).kind;
exit(status === 400 && before === 200 && end === 'closed' ? 0 : 7);
