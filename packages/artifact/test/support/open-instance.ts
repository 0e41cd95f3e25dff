/** Opens the instance of a data directory and tells its id and key: `open-instance.ts <data directory>`. */
import { openInstance } from '../../src/index.ts';

const [dataDir = ''] = process.argv.slice(2);
const { instance, signer } = await openInstance(dataDir);
console.log(`${instance} ${signer.keyId}`);
