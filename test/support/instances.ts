import { appendFileSync, readFileSync } from 'node:fs';

/** Names the file in which a run of tests keeps the instances that its tests make; its workers inherit it. */
export const instancesVariable = 'GLOVEBOX_TEST_INSTANCES';

/** Tell the run of tests of an instance whose cells must have left nothing when it ends. */
export function noteInstance(instance: string): void {
  const file = process.env[instancesVariable];
  if (file !== undefined) appendFileSync(file, `${instance}\n`);
}

export const notedInstances = (file: string): string[] => [
  ...new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean)),
];
