export { createArtifactStore } from './artifact-store.ts';
