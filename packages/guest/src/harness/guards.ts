import { defineProperty, PlainProxy } from './primordials.ts';

/**
 * Refuse to make code from text: `eval`, `Function` and its async and generator kin. Node.js has a flag for this; with it
 * V8 rejects the code cache of Node's own built-ins, and each `node:net` costs 12 ms more, each `node:crypto` 20. Like the
 * flag it is hygiene, which `node:vm` gets around: the cell is the wall.
 */
export function refuseCodeFromStrings(): void {
  const refuse = (): never => {
    throw new EvalError('Code generation from strings disallowed for this context');
  };
  const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
  for (const kind of kinds) {
    const prototype = Object.getPrototypeOf(kind) as { constructor: (...args: unknown[]) => unknown };
    // A proxy, so that `instanceof Function`, `Function.prototype` and `class extends Function` stay what they are.
    const guarded = new PlainProxy(prototype.constructor, { apply: refuse, construct: refuse });
    const descriptor = Object.getOwnPropertyDescriptor(prototype, 'constructor');
    defineProperty(prototype, 'constructor', { ...descriptor, value: guarded });
    if (kind === kinds[0])
      defineProperty(globalThis, 'Function', { configurable: true, writable: true, value: guarded });
  }
  defineProperty(globalThis, 'eval', {
    configurable: true,
    writable: true,
    value: { eval: (text: unknown) => (typeof text === 'string' ? refuse() : text) }.eval,
  });
}

/**
 * Node.js tells of an uncaught error by `process.emit` before anything else: one that throws itself would end the process
 * before the error is told. A library may still replace it, on `process` alone.
 */
export function pinProcessEvents(): void {
  defineProperty(process, 'emit', { configurable: true, writable: true, value: process.emit });
}

/** Tell of the end before the process ends: what the node logged, and that it was by its own call. */
export function announceExit(onExit: (code: unknown) => void): void {
  const exit = process.exit.bind(process);
  process.exit = ((code?: number | string | null) => {
    onExit(code);
    exit(code);
  }) as typeof process.exit;
}
