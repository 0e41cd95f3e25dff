import type { TestJob } from '@glovebox/contract';
import { testControlPaths } from '@glovebox/contract/build-limits';
import { type Control, textOfBody } from '../harness/control.ts';
import { parseJsonText } from '../harness/primordials.ts';

/** Ask the host what to run. */
export async function fetchTestJob(control: Control): Promise<TestJob> {
  const { status, body } = await control.get(testControlPaths.job);
  if (status !== 200) throw new Error(`the host answered ${status} to the job request`);
  return parseJsonText(textOfBody(body)) as TestJob;
}
