export { createBlobStore } from './blob-store.ts';
