import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { type Fixture, type FixtureVerdict, readFixture as takeFixture } from '@glovebox/engine';
import { readSnapshotDir } from '@glovebox/validate';
import { usage } from './args.ts';
import { jsonText, oneLine, paint } from './output.ts';
import { packageInvalid } from './trial-upload.ts';
import { requireJson } from './values.ts';

/** @throws GloveboxError `USAGE`, `INPUT_UNREADABLE`, `INPUT_NOT_JSON`, `INPUT_INVALID`, `NOT_AVAILABLE_YET`. */
export async function readFixture(packageDir: string, name: string): Promise<Fixture & { name: string }> {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(name))
    throw usage('node run', `--fixture ${name} is not the name of a fixture`);
  const path = `fixtures/${name.replace(/\.json$/, '')}.json`;
  const file = join(packageDir, path);
  const text = await fixtureFile(packageDir, path);
  if (text === undefined) {
    throw new GloveboxError('INPUT_UNREADABLE', {
      message: `There is no fixture ${name}.`,
      hint: 'Fixtures are fixtures/<name>.json in the package: plain files of UTF-8.',
      place: { file },
    });
  }
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

/** From a snapshot of the package, whose rules it keeps: a link or a device in its place is not opened. */
async function fixtureFile(packageDir: string, path: string): Promise<string | undefined> {
  const snapshot = await readSnapshotDir(packageDir);
  if (!snapshot.ok) throw packageInvalid(packageDir, snapshot.findings);
  const bytes = snapshot.files.get(path);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** How a run compared, in one line for people. */
export function fixtureText({ name, matches, differsAt, expected }: FixtureVerdict): string {
  if (matches) return `${paint('green', 'fixture', process.stderr)} ${name}: as expected`;
  const where = differsAt === undefined ? '' : ` at ${differsAt === '' ? 'the top' : oneLine(differsAt)}`;
  return `${paint('red', 'fixture', process.stderr)} ${name}: differs${where}; expected ${jsonText(expected ?? null).slice(0, 300)}`;
}
