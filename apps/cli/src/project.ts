import { defaultProject, GloveboxError, idPatterns } from '@glovebox/contract';
import type { Attempt, RunRecord, RunStore } from '@glovebox/engine';
import { type ParsedArgs, usage } from './args.ts';

/** The project that a command works in. Today there is just `default`. */
export function projectOf(args: ParsedArgs): string {
  const project = (args.options.project as string | undefined) ?? defaultProject;
  if (!idPatterns.project.test(project)) throw usage('', `--project ${project} is not a project name`);
  if (project !== defaultProject)
    throw new GloveboxError('NOT_FOUND', { message: `There is no project ${project}.`, hint: 'Leave out --project.' });
  return project;
}

/** @throws GloveboxError `NOT_FOUND` when there is no such run in the project. */
export async function findRun(
  store: RunStore,
  args: ParsedArgs,
): Promise<{ run: RunRecord; attempts: Attempt[]; last: Attempt }> {
  const id = args.positionals[0] as string;
  const found = idPatterns.run.test(id) ? await store.get(projectOf(args), id) : undefined;
  const last = found?.attempts.at(-1);
  if (!found || !last)
    throw new GloveboxError('NOT_FOUND', { message: `There is no run ${id}.`, hint: 'See glovebox run list.' });
  return { ...found, last };
}
