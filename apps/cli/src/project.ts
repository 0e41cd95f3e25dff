import type { Client } from '@glovebox/client';
import { defaultProject, GloveboxError, idPatterns } from '@glovebox/contract';
import type { AttemptView, RunView } from '@glovebox/contract/routes';
import { type ParsedArgs, usage } from './args.ts';

/** The project that a command works in. Today there is just `default`. */
export function projectOf(args: ParsedArgs): string {
  const project = (args.options.project as string | undefined) ?? defaultProject;
  if (!idPatterns.project.test(project)) throw usage('', `--project ${project} is not a project name`);
  if (project !== defaultProject)
    throw new GloveboxError('NOT_FOUND', { message: `There is no project ${project}.`, hint: 'Leave out --project.' });
  return project;
}

/** Which run a command is about. @throws GloveboxError `NOT_FOUND` for a text that is the id of none. */
export function runOf(args: ParsedArgs): { project: string; run: string } {
  const run = args.positionals[0] as string;
  const project = projectOf(args);
  if (!idPatterns.run.test(run))
    throw new GloveboxError('NOT_FOUND', { message: `There is no run ${run}.`, hint: 'See glovebox run list.' });
  return { project, run };
}

/** The run with its last attempt. @throws GloveboxError `NOT_FOUND` when there is no such run in the project. */
export async function findRun(
  client: Client,
  params: { project: string; run: string },
): Promise<RunView & { last: AttemptView }> {
  const found = await client.call('runs.get', { params });
  return { ...found, last: found.attempts.at(-1) as AttemptView };
}
