/** Puts artifacts into a store and tells the digest of each when it is there: `writer.ts <directory> <version> …`. */
import { makeArtifact, makeSigner } from '../../../../test/support/artifact.ts';
import { createArtifactStore } from '../../src/index.ts';

const [dir = '', ...versions] = process.argv.slice(2);
const store = createArtifactStore(dir);
const { signer } = makeSigner();
await Promise.all(
  versions.map(async (version) => {
    const artifact = await makeArtifact(signer, { version });
    await store.put(artifact);
    console.log(artifact.digest);
  }),
);
