import type { defineNode as PublicDefineNode } from './api.ts';

export type * from './api.ts';
export { NodeError } from './node-error.ts';

export const defineNode: typeof PublicDefineNode = (handler) => {
  if (typeof handler !== 'function')
    throw new TypeError(`defineNode: the handler must be a function, got ${typeof handler}`);
  return handler;
};
