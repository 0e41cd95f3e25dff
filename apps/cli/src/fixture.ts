import { join } from 'node:path';
import { cassetteName, GloveboxError } from '@glovebox/contract';
import type { RunOutcome } from '@glovebox/contract/routes';
import {
  type Fixture,
  type FixtureVerdict,
  judgeFixture,
  type TrialCassette,
  type TrialHttp,
  readFixture as takeFixture,
} from '@glovebox/engine';
import { readSnapshotDir } from '@glovebox/validate';
import { usage } from './args.ts';
import { jsonText, oneLine, paint } from './output.ts';
import { packageInvalid } from './trial-upload.ts';
import { requireJson } from './values.ts';

/** @throws GloveboxError `USAGE`, `INPUT_UNREADABLE`, `INPUT_NOT_JSON`, `INPUT_INVALID`. */
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
      hint: 'A fixture is { input, config?, http?: cassette, expect: { output } | { error: code } }.',
      place: { file, path: read.path },
    });
  }
  const { http } = read.fixture;
  if (http !== undefined && !cassetteName.test(http)) {
    throw new GloveboxError('INPUT_INVALID', {
      message: `The fixture ${name} names no cassette: ${JSON.stringify(http.slice(0, 80))} is not the name of one.`,
      hint: 'A cassette is fixtures/<name>.cassette.json; http is its name alone.',
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

/** Who answers a fixture: its cassette, or nobody. It reaches no network. */
export const replayOf = ({ http }: Pick<Fixture, 'http'>): TrialHttp => ({ kind: 'replay', cassette: http ?? null });

/** A request that is not in the cassette fails a fixture, whatever the node made of it. */
export function judgeTrial(
  fixture: Fixture & { name: string },
  result: RunOutcome & { cassette?: TrialCassette },
): FixtureVerdict {
  const verdict = judgeFixture(fixture.name, fixture, result);
  const findings = result.cassette?.kind === 'replayed' ? result.cassette.findings : [];
  const missed = findings.filter(({ severity }) => severity === 'error').length;
  return missed === 0 ? verdict : { ...verdict, matches: false, missed };
}

/** How a run compared, in one line for people. */
export function fixtureText({ name, matches, differsAt, expected, missed }: FixtureVerdict): string {
  if (missed !== undefined)
    return `${paint('red', 'fixture', process.stderr)} ${name}: asks for what its cassette has not`;
  if (matches) return `${paint('green', 'fixture', process.stderr)} ${name}: as expected`;
  const where = differsAt === undefined ? '' : ` at ${differsAt === '' ? 'the top' : oneLine(differsAt)}`;
  return `${paint('red', 'fixture', process.stderr)} ${name}: differs${where}; expected ${jsonText(expected ?? null).slice(0, 300)}`;
}
