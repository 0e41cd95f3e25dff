import type { ErrorCode, Finding, Json, JsonLimits } from '@glovebox/contract';
import { Findings } from '../findings.ts';
import { inspectJson } from './inspect.ts';
import { locate, position } from './place.ts';

/** A JSON file of a package: its value, and the text for places in it. */
export interface JsonFile {
  file: string;
  text: string;
  value: Json;
}

/**
 * Decode and parse a JSON file: UTF-8 without a byte order mark, within limits, no member named twice, no number that a
 * double would change. Each fault is a finding of `rule` with line and column.
 *
 * @returns undefined when there was any.
 */
export function readJsonFile(
  file: string,
  bytes: Uint8Array,
  limits: JsonLimits,
  rule: ErrorCode,
  findings: Findings,
): JsonFile | undefined {
  if (bytes.length > limits.maxBytes) {
    findings.error(rule, `${file} has ${bytes.length} bytes; at most ${limits.maxBytes}`, { file });
    return undefined;
  }
  const text = decodeUtf8(bytes);
  if (text === undefined) {
    findings.error(rule, `${file} is not valid UTF-8`, { file }, 'Save it as UTF-8.');
    return undefined;
  }
  if (text.startsWith('\ufeff')) {
    findings.error(
      rule,
      `${file} begins with a byte order mark`,
      { file, line: 1, column: 1 },
      'Save it as UTF-8 without one.',
    );
    return undefined;
  }
  const problems = inspectJson(text, limits.maxDepth);
  for (const { message, offset, path } of problems) {
    findings.error(
      rule,
      `${file}: ${message}`,
      { file, path, ...position(text, offset) },
      'Check it with a JSON parser.',
    );
  }
  if (problems.length > 0) return undefined;
  return { file, text, value: JSON.parse(text) as Json };
}

/** The same for other packages that read an author's JSON. `findings` are all errors. */
export function readJson(
  file: string,
  bytes: Uint8Array,
  limits: JsonLimits,
  rule: ErrorCode,
): { ok: true; value: Json } | { ok: false; findings: Finding[] } {
  const findings = new Findings();
  const json = readJsonFile(file, bytes, limits, rule, findings);
  return json === undefined ? { ok: false, findings: findings.all() } : { ok: true, value: json.value };
}

/** The text, a byte order mark left in; undefined when it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Add line and column to findings about JSON files of a package that have only a path: those of a judge, which knows
 * schemas but not the file that they stand in. Changes nothing that has a line already.
 */
export function locateFindings(files: ReadonlyMap<string, Uint8Array>, findings: readonly Finding[]): Finding[] {
  const copies = findings.map((finding) => ({ ...finding, place: { ...finding.place } }));
  for (const [file, bytes] of files) {
    const places = copies.filter(
      ({ place }) => place.file === file && place.path !== undefined && place.line === undefined,
    );
    if (places.length === 0) continue;
    const text = decodeUtf8(bytes);
    if (text !== undefined)
      locate(
        text,
        places.map(({ place }) => ({ place, at: 'value' })),
      );
  }
  return copies;
}
