/**
 * Make `Math.random` give the same numbers for the same seed (mulberry32: short, and even enough for tests).
 *
 * `node:crypto`, `crypto.getRandomValues` and the identifiers of Node.js stay as random as they are.
 */
export function seedChance(seed: number): void {
  const multiply = Math.imul;
  let state = seed >>> 0;
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = multiply(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + multiply(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  Object.defineProperty(Math, 'random', { configurable: true, writable: true, value: { random }.random });
}
