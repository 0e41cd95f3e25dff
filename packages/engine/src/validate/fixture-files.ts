import { errorCatalogue, type Finding, type Json } from '@glovebox/contract';
import { readJson } from '@glovebox/validate';
import { valueLimits } from '../run-values.ts';
import { type Fixture, readFixture } from './fixture.ts';
import { type FoundCassette, type NamedCassette, readCassetteOf } from './fixture-cassettes.ts';

/** A fixture of a package, from `fixtures/<name>.json`. */
export interface NamedFixture extends Fixture {
  name: string;
  file: string;
  /** What `http` names; the same one for all fixtures that name it. */
  cassette: NamedCassette | undefined;
}

/** Not of a cassette, which lies beside them. */
const fixturePath = /^fixtures\/([^/]+)(?<!\.cassette)\.json$/;

/** The files of a package that fixtures stand in, by path. */
export function fixtureFiles(files: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  return new Map([...files].filter(([path]) => fixturePath.test(path)));
}

/** Read every fixture of a package, and the cassettes that they name. Those with findings are not among the fixtures. */
export function readFixtures(files: ReadonlyMap<string, Uint8Array>): {
  fixtures: NamedFixture[];
  findings: Finding[];
} {
  const fixtures: NamedFixture[] = [];
  const findings: Finding[] = [];
  const cassettes = new Map<string, FoundCassette>();
  for (const [file, bytes] of fixtureFiles(files)) {
    const json = readJson(file, bytes, valueLimits, 'FIXTURE_INVALID');
    if (!json.ok) findings.push(...json.findings);
    else {
      const read = readFixture(json.value);
      if (!read.ok) findings.push(atFixture('FIXTURE_INVALID', file, read.path, `${file}: ${read.message}`));
      else {
        const { http } = read.fixture;
        // Each once: a cassette that is at fault is told of once, however many fixtures name it.
        const known = http === undefined ? undefined : cassettes.get(http);
        const cassette = http === undefined ? undefined : (known ?? readCassetteOf(files, http));
        if (http !== undefined && cassette !== undefined) cassettes.set(http, cassette);
        if (cassette?.ok === false) findings.push(...(known === undefined ? cassette.findings : []));
        else {
          const name = fixturePath.exec(file)?.[1] ?? file;
          fixtures.push({ ...read.fixture, name, file, cassette: cassette?.found });
        }
      }
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
