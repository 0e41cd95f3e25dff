import { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ObjectPrototype, ownKeys } from './primordials.ts';

/**
 * Give `target` its inherited methods as own properties, as they are now. Later changes to the prototypes, which author
 * code shares, then no longer reach it.
 */
export function pinMethods(target: object): void {
  let prototype = getPrototypeOf(target) as object | null;
  while (prototype !== null && prototype !== ObjectPrototype) {
    const names = ownKeys(prototype);
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as PropertyKey;
      if (name === 'constructor' || getOwnPropertyDescriptor(target, name)) continue;
      defineProperty(target, name, getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor);
    }
    prototype = getPrototypeOf(prototype) as object | null;
  }
}
