import type { ErrorCode, Finding, Place } from '@glovebox/contract';
import type { Findings } from '../findings.ts';
import { jsonEdits, locate } from './place.ts';
import { type Segment, toPointer } from './pointer.ts';
import type { JsonFile } from './read.ts';

/** Something that is wrong in a JSON file. */
export interface Told {
  rule: ErrorCode;
  path: readonly Segment[];
  message: string;
  hint?: string | undefined;
  severity?: Finding['severity'] | undefined;
  /** Point at the member's name rather than at its value. */
  at?: 'key' | undefined;
  /** What stands at `path` is to be replaced: its name or, as a scalar, its value. */
  fix?: { title: string; replace: 'key' | 'value'; json: string } | undefined;
}

/** More than a report shows; what is beyond counts, but is not looked up in the text. */
const maxPlaced = 300;

/**
 * Gathers what is wrong in one JSON file and finds the places of all of it in one pass over the text: a hostile file has
 * thousands of faults and megabytes to look them up in.
 */
export class ToldOf {
  readonly #json: JsonFile;
  readonly #told: Told[] = [];

  constructor(json: JsonFile) {
    this.#json = json;
  }

  get hasErrors(): boolean {
    return this.#told.some(({ severity = 'error' }) => severity === 'error');
  }

  tell(told: Told): void {
    this.#told.push(told);
  }

  /** Pass all on, in the order of the text. */
  report(findings: Findings): void {
    const placed = this.#told.map((told) => {
      const place: Place = { file: this.#json.file, path: toPointer(told.path) };
      return { told, place, at: told.at ?? ('value' as const) };
    });
    const shown = placed.slice(0, maxPlaced);
    locate(this.#json.text, shown);
    shown.sort((a, b) => (a.place.line ?? 0) - (b.place.line ?? 0) || (a.place.column ?? 0) - (b.place.column ?? 0));
    const fixes = this.#fixes(shown.map(({ told }) => told));
    for (const { told, place } of [...shown, ...placed.slice(maxPlaced)]) {
      findings[told.severity ?? 'error'](told.rule, told.message, place, told.hint, fixes.get(told));
    }
  }

  #fixes(shown: readonly Told[]): Map<Told, NonNullable<Finding['fix']>> {
    const mended = shown.flatMap((told) => (told.fix === undefined ? [] : [{ told, ...told.fix }]));
    const edits = jsonEdits(
      this.#json.file,
      this.#json.text,
      mended.map(({ told: { path }, replace: at, json }) => ({ path, at, json })),
    );
    return new Map(
      mended.flatMap(({ told, title }, index) => {
        const edit = edits[index];
        return edit === undefined ? [] : [[told, { title, edits: [edit] }]];
      }),
    );
  }
}
