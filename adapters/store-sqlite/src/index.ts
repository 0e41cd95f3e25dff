export { openStore, type Store, type StoreOptions } from './store.ts';
