/**
 * Publishes a draft, or revokes its release, in a process that dies just before its nth call of a port:
 * `release-program.ts <publish|revoke> <data directory> <images directory> <id> <n>`.
 */
import { publishRelease, revokeRelease } from '@glovebox/engine';
import { openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { killAtNthCall } from '../support/kill-at-nth-call.ts';

const [verb, dataDir = '', imagesDir = '', id = '', n] = process.argv.slice(2);
const config = { dataDir, runtime: 'auto', registry: undefined, extraCa: undefined };
const { engine, close } = await openLocalEngine(config, {}, { imagesDir });
const mortal = killAtNthCall(engine, Number(n));
const actor = 'local:uid=0';
if (verb === 'publish') await publishRelease(mortal, { project: 'default', id, actor });
else await revokeRelease(mortal, { project: 'default', reference: `${id}@1.0.0`, reason: 'Bad', actor });
await close();
