/** Tells the digest of the artifact of makeParts. */

import { makeParts } from '../../../../test/support/artifact.ts';
import { composeArtifact } from '../../src/index.ts';

console.log(composeArtifact(makeParts()).digest);
