export { openRunStore, type RunStoreOptions } from './run-store.ts';
