import { errorCatalogue, type Finding, type Json } from '@glovebox/contract';
import { readJson } from '@glovebox/validate';
import { valueLimits } from '../run-values.ts';
import { type Fixture, readFixture } from './fixture.ts';

/** A fixture of a package, from `fixtures/<name>.json`. */
export interface NamedFixture extends Fixture {
  name: string;
  file: string;
}

const fixturePath = /^fixtures\/([^/]+)\.json$/;

/** The files of a package that fixtures stand in, by path. */
export function fixtureFiles(files: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  return new Map([...files].filter(([path]) => fixturePath.test(path)));
}

/** Read every fixture of a package. Those with findings are not among the fixtures. */
export function readFixtures(files: ReadonlyMap<string, Uint8Array>): {
  fixtures: NamedFixture[];
  findings: Finding[];
} {
  const fixtures: NamedFixture[] = [];
  const findings: Finding[] = [];
  for (const [file, bytes] of fixtureFiles(files)) {
    const json = readJson(file, bytes, valueLimits, 'FIXTURE_INVALID');
    if (!json.ok) findings.push(...json.findings);
    else {
      const read = readFixture(json.value);
      if (!read.ok) findings.push(atFixture('FIXTURE_INVALID', file, read.path, `${file}: ${read.message}`));
      else if (read.fixture.http !== undefined) {
        const message = `${file}: requests in fixtures are not answered yet`;
        findings.push(atFixture('NOT_AVAILABLE_YET', file, '/http', message, 'Leave http out.'));
      } else fixtures.push({ ...read.fixture, name: fixturePath.exec(file)?.[1] ?? file, file });
    }
  }
  return { fixtures, findings };
}

/** An error at a place of a fixture. */
export function atFixture(rule: Finding['rule'], file: string, path: string, message: string, hint?: string): Finding {
  return { rule, severity: 'error', message, hint: hint ?? errorCatalogue[rule].hint, place: { file, path } };
}

/** A value as a finding shows it: short. */
export function shown(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value).toWellFormed();
  return text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text;
}
