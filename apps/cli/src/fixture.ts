import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { type Fixture, readFixture as takeFixture } from '@glovebox/engine';
import { usage } from './args.ts';
import { requireJson } from './values.ts';

/** @throws GloveboxError `USAGE`, `INPUT_UNREADABLE`, `INPUT_NOT_JSON`, `INPUT_INVALID`, `NOT_AVAILABLE_YET`. */
export async function readFixture(packageDir: string, name: string): Promise<Fixture & { name: string }> {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(name))
    throw usage('node run', `--fixture ${name} is not the name of a fixture`);
  const file = join(packageDir, 'fixtures', `${name.replace(/\.json$/, '')}.json`);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new GloveboxError('INPUT_UNREADABLE', {
      message: `There is no fixture ${name}.`,
      hint: 'Fixtures are fixtures/<name>.json in the package.',
      place: { file },
      cause: error,
    });
  });
  const read = takeFixture(await requireJson(`The fixture ${name}`, text, { file }));
  if (!read.ok) {
    throw new GloveboxError('INPUT_INVALID', {
      message: `The fixture ${name} is not valid: ${read.message}.`,
      hint: 'A fixture is { input, config?, expect: { output } | { error: code } }.',
      place: { file, path: read.path },
    });
  }
  if (read.fixture.http !== undefined) {
    throw new GloveboxError('NOT_AVAILABLE_YET', {
      message: `The fixture ${name} brings answers to requests, which fixtures cannot yet.`,
      hint: 'Leave http out.',
      place: { file, path: '/http' },
    });
  }
  return { ...read.fixture, name };
}
