/**
 * One attempt on a hostile cell in a process of its own, and then what still keeps that process alive, as JSON. For what a
 * test runner's own timers and handlers would hide.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { runHostile } from './run.ts';

const [scenario = '', ...args] = process.argv.slice(2);
const { report } = await runHostile(scenario, args, { timeoutMs: 1000 });
// What closes is closed a few turns later.
for (let i = 0; i < 100; i++) await nextTurn();
const held = process.getActiveResourcesInfo().filter((kind) => /Timeout|Immediate|FSReq|Worker/.test(kind));
process.stdout.write(JSON.stringify({ state: report.state, held }));
