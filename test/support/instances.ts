import { appendFileSync, readFileSync } from 'node:fs';

/** Names the file in which a run of tests keeps the instances that its tests make; its workers inherit it. */
export const instancesVariable = 'GLOVEBOX_TEST_INSTANCES';

/**
 * Tell the run of tests of an instance whose cells must have left nothing when it ends.
 *
 * @param runDirectory where its drivers keep the directories of cells; where a test removes that itself, it need not.
 */
export function noteInstance(instance: string, runDirectory = ''): void {
  const file = process.env[instancesVariable];
  if (file !== undefined) appendFileSync(file, `${instance}\t${runDirectory}\n`);
}

export const notedInstances = (file: string): string[] => [...new Set(notesOf(file).map(([instance]) => instance))];

export const notedRunDirectories = (file: string): string[] => [
  ...new Set(notesOf(file).flatMap(([, runDirectory]) => runDirectory || [])),
];

const notesOf = (file: string): [instance: string, runDirectory: string][] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [instance = '', runDirectory = ''] = line.split('\t');
      return [instance, runDirectory];
    });
