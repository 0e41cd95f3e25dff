export { imageArchive } from './image-archive.ts';
export { createImageStore, type ImageStoreOptions, type RootfsImageStore } from './image-store.ts';
export type { ImageSources, InputOverrides, Program } from './inputs.ts';
