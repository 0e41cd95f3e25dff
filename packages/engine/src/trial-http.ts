import {
  defaultEgressPolicy,
  type ErrorData,
  type Finding,
  fromFindings,
  GloveboxError,
  toErrorData,
} from '@glovebox/contract';
import { type Cassette, createCassetteEgress, Recording, readCassette, recordEgress } from '@glovebox/egress/cassette';
import { locateFindings } from '@glovebox/validate';
import type { Engine } from './engine.ts';
import type { RunResult } from './perform-run.ts';
import { missFindings, unusedFindings } from './validate/cassette-findings.ts';
import { readCassetteOf } from './validate/fixture-cassettes.ts';

/**
 * Who answers the requests of a trial: origins; origins, and what they answer is recorded; or a cassette of the package, by
 * its name. With `null` for its name there is none, and every request is a miss: a fixture reaches no network.
 */
export type TrialHttp = { kind: 'live' } | { kind: 'record' } | { kind: 'replay'; cassette: string | null };

/** What came of a recording, or of a cassette that was played. */
export type TrialCassette =
  | { kind: 'recorded'; text: string }
  /** The run did not succeed, or what it asked for fits no cassette. */
  | { kind: 'not-recorded'; error: ErrorData }
  /** Errors are requests that it has not; a warning is about entries that nothing asked for. */
  | { kind: 'replayed'; findings: Finding[] };

/** What a trial needs of an engine for its requests, in place of the engine's own. */
export interface TrialEgress {
  parts: Pick<Engine, 'egress' | 'egressLog' | 'egressPolicies'>;
  /** Call once, when the run is over. */
  outcome(run: Pick<RunResult, 'state'>): TrialCassette | undefined;
}

/** @throws GloveboxError `CASSETTE_INVALID` with the findings as details. */
export function openTrialEgress(
  engine: Pick<Engine, 'egress' | 'egressLog' | 'egressPolicies'>,
  files: ReadonlyMap<string, Uint8Array>,
  http: TrialHttp,
): TrialEgress {
  switch (http.kind) {
    case 'live':
      return { parts: engine, outcome: () => undefined };
    case 'record':
      return record(engine);
    case 'replay':
      return replay(engine, files, http.cassette);
  }
}

function record({ egress, egressLog, egressPolicies }: TrialEgress['parts']): TrialEgress {
  const recording = new Recording();
  return {
    parts: { egress: recordEgress(egress, recording), egressLog, egressPolicies },
    outcome({ state }) {
      try {
        if (state !== 'SUCCEEDED')
          throw new GloveboxError('CASSETTE_INCOMPLETE', {
            message: `The run ended as ${state}, so nothing was recorded.`,
          });
        const text = recording.text();
        // Nothing is handed out that could not be read again.
        const read = readCassette(JSON.parse(text));
        if (!read.ok) throw new GloveboxError('INTERNAL', { message: `a recording at ${read.path}: ${read.message}` });
        return { kind: 'recorded', text };
      } catch (error) {
        return { kind: 'not-recorded', error: toErrorData(error) };
      }
    },
  };
}

const nothing: Cassette = { schema: 'glovebox.cassette/1', entries: [] };

function replay(live: TrialEgress['parts'], files: ReadonlyMap<string, Uint8Array>, name: string | null): TrialEgress {
  const read = name === null ? undefined : readCassetteOf(files, name);
  if (read?.ok === false)
    throw new GloveboxError('CASSETTE_INVALID', fromFindings(locateFindings(files, read.findings)));
  const { egress, player } = createCassetteEgress(read?.found.cassette ?? nothing);
  return {
    parts: {
      ...live,
      egress,
      // The log tells what left this host, and here nothing does.
      egressLog: { append: async () => undefined, list: async () => [] },
      // What a fixture comes to is for the package to say, wherever it is run: the check judges it so.
      egressPolicies: {
        ...live.egressPolicies,
        get: async () => ({ policy: defaultEgressPolicy, revision: 0, changedAt: null, changedBy: null }),
      },
    },
    outcome({ state }) {
      const place = read === undefined ? { file: 'fixtures' } : { file: read.found.file };
      const misses = missFindings(name ?? 'no cassette', place, player.misses);
      // No cassette was named and nothing was asked for: nothing came of one.
      if (read === undefined && misses.length === 0) return undefined;
      if (read === undefined || misses.length > 0) return { kind: 'replayed', findings: misses };
      // What came to no end has not asked for all that it would.
      const left = state === 'SUCCEEDED' ? player.unused() : [];
      const unused = unusedFindings(new Map([[read.found, [left]]]), 'one-run');
      return { kind: 'replayed', findings: locateFindings(files, unused) };
    },
  };
}
