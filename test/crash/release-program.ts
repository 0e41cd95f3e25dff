/**
 * Publishes a draft, or revokes its release, in a process that dies just before its nth call of a port:
 * `release-program.ts <publish|revoke> <data directory> <id> <n>`.
 */
import { publishRelease, revokeRelease } from '@glovebox/engine';
import { killAtNthCall } from '../support/kill-at-nth-call.ts';
import { openReleases } from '../support/release-records.ts';

const [verb, dataDir = '', id = '', n] = process.argv.slice(2);
const { close, ...records } = await openReleases(dataDir);
const mortal = killAtNthCall(records, Number(n));
const actor = 'local:uid=0';
if (verb === 'publish') await publishRelease(mortal, { project: 'default', id, actor });
else await revokeRelease(mortal, { project: 'default', reference: `${id}@1.0.0`, reason: 'Bad', actor });
await close();
