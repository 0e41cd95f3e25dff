import { cassetteFileLimits, cassetteName, cassettePath, type Finding } from '@glovebox/contract';
import { type Cassette, readCassette } from '@glovebox/egress/cassette';
import { readJson } from '@glovebox/validate';

/** A cassette of a package, and where it lies. */
export interface NamedCassette {
  file: string;
  cassette: Cassette;
}

export type FoundCassette = { ok: true; found: NamedCassette } | { ok: false; findings: Finding[] };

/**
 * Read a cassette of a package by its name. The bytes are an author's: they are bounded, parsed and checked as far as the
 * first fault.
 *
 * @returns findings of `CASSETTE_INVALID`, each with its place in the file; one for the file as a whole where it is not there.
 */
export function readCassetteOf(files: ReadonlyMap<string, Uint8Array>, name: string): FoundCassette {
  if (!cassetteName.test(name)) return invalid('fixtures', '', `${JSON.stringify(name.slice(0, 80))} is no name`);
  const file = cassettePath(name);
  const bytes = files.get(file);
  if (bytes === undefined)
    return invalid(file, '', 'there is no such file', `Record it with glovebox node run --record ${name}.`);
  const json = readJson(file, bytes, cassetteFileLimits, 'CASSETTE_INVALID');
  if (!json.ok) return json;
  const read = readCassette(json.value);
  return read.ok ? { ok: true, found: { file, cassette: read.cassette } } : invalid(file, read.path, read.message);
}

function invalid(file: string, path: string, message: string, hint = 'Record it again, or mend it.'): FoundCassette {
  const place = { file, path };
  return {
    ok: false,
    findings: [{ rule: 'CASSETTE_INVALID', severity: 'error', message: `${file}: ${message}`, hint, place }],
  };
}
