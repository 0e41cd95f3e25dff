/** Tells the digest of the artifact of makeParts. */
import { composeArtifact } from '../../src/index.ts';
import { makeParts } from './artifact.ts';

console.log(composeArtifact(makeParts()).digest);
