/** Rotates the signing key of a data directory: `rotate-key.ts <data directory>`. */
import { rotateSigningKey } from '../../src/index.ts';

const [dataDir = ''] = process.argv.slice(2);
console.log(JSON.stringify(await rotateSigningKey(dataDir)));
