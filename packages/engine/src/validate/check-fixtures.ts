import type { CellDriver } from '@glovebox/cell';
import { planRunCell } from '@glovebox/cell';
import {
  type CellClass,
  type Digest,
  defaultEgressPolicy,
  type Finding,
  GloveboxError,
  type Json,
  newAttemptId,
  newRunId,
  runLimits,
} from '@glovebox/contract';
import type { Egress } from '@glovebox/egress';
import { type Cassette, createCassetteEgress } from '@glovebox/egress/cassette';
import { locateFindings, type ValueJudge } from '@glovebox/validate';
import { httpGrant } from '../attempt/http-grant.ts';
import { type AttemptReport, runAttempt } from '../attempt/run-attempt.ts';
import type { NodePackage } from '../ports.ts';
import { judgeOutput } from '../run-values.ts';
import { missFindings, unusedFindings } from './cassette-findings.ts';
import { discardedFiles } from './discarded-files.ts';
import { type FixtureVerdict, judgeFixture } from './fixture.ts';
import type { NamedCassette } from './fixture-cassettes.ts';
import { atFixture, type NamedFixture, readFixtures, shown } from './fixture-files.ts';
import { type CheckOutcome, judged } from './outcome.ts';

/** For all fixtures of a package: each has the time that the manifest gives a run, and there may be hundreds. */
const deadlineMs = 10 * 60_000;

const refusals = ['OUTPUT_INVALID', 'OUTPUT_NOT_JSON', 'SCHEMA_TOO_COSTLY'] as const;

export interface FixturesRequest {
  project: string;
  pkg: Pick<NodePackage, 'files' | 'manifest'>;
  bundle: Uint8Array;
  bundleDigest: string;
  sourceMap: Uint8Array;
}

export interface FixturesOptions {
  driver: CellDriver;
  cellClass: CellClass;
  /** Digest of the runtime image. */
  image: Digest;
  /** Over the schemas of the manifest. The caller closes it. */
  judge: ValueJudge;
  now: () => number;
  monotonicMs: () => number;
  bootMs: () => number;
  signal?: AbortSignal;
}

/**
 * Run every fixture of a package in a cell of its own, by the harness and under the plan of a real run, and compare on this
 * side what came of it. Nothing is recorded: these are no runs.
 *
 * Requests are answered from the cassette of a fixture, under its manifest and the policy of a project that has none of its
 * own; nothing reaches the network. One that is not recorded fails the fixture, whatever the node makes of it.
 *
 * Input and config must fit their schemas before a cell boots, unless the fixture expects just that refusal; an output must
 * fit its schema whatever the fixture says.
 *
 * @throws GloveboxError as runAttempt does, and when the host loses a cell.
 */
export async function checkFixtures(request: FixturesRequest, options: FixturesOptions): Promise<CheckOutcome> {
  const { fixtures, findings } = readFixtures(request.pkg.files);
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  // All are waited for: no cell outlives the check.
  const runs = await Promise.allSettled(
    fixtures.map((fixture) => runFixture(fixture, request, { ...options, signal })),
  );
  if (deadline.aborted && !options.signal?.aborted) {
    const message = `the fixtures took more than ${deadlineMs / 1000} s in all`;
    return judged([...findings, atFixture('TIMED_OUT', 'fixtures', '', message, 'Do less in them, or drop some.')]);
  }
  const unused = new Map<NamedCassette, number[][]>();
  for (const [i, run] of runs.entries()) {
    if (run.status === 'rejected') throw run.reason;
    findings.push(...run.value.findings);
    const cassette = fixtures[i]?.cassette;
    if (cassette !== undefined) unused.set(cassette, [...(unused.get(cassette) ?? []), run.value.unused]);
  }
  findings.push(...unusedFindings(unused, 'all-fixtures'));
  return judged(locateFindings(request.pkg.files, findings), { fixtures: fixtures.length });
}

interface FixtureEnd {
  findings: Finding[];
  /** Entries of its cassette that it did not ask for; none where it did not come to its end, for then that says nothing. */
  unused: number[];
}

const noRequests: Cassette = { schema: 'glovebox.cassette/1', entries: [] };

async function runFixture(
  fixture: NamedFixture,
  request: FixturesRequest,
  options: FixturesOptions & { signal: AbortSignal },
): Promise<FixtureEnd> {
  const refusal = await misfit(fixture, options.judge);
  if (refusal !== undefined) {
    const { expect } = fixture;
    const isExpected = 'error' in expect && expect.error === refusal.rule;
    return { findings: isExpected ? [] : [refusal], unused: [] };
  }
  const { egress, player } = createCassetteEgress(fixture.cassette?.cassette ?? noRequests);
  const report = await attempt(fixture, request, { ...options, egress });
  options.signal.throwIfAborted();
  if (report.state === 'LOST')
    throw new GloveboxError('CELL_LOST', report.error === null ? {} : { message: report.error.message });
  await judgeOutput(options.judge, report, request.sourceMap);
  const place = { file: fixture.file, path: fixture.cassette === undefined ? '' : '/http' };
  const misses = missFindings(fixture.name, place, player.misses);
  const findings = misses.length > 0 ? misses : verdictFindings(fixture, report);
  return { findings, unused: findings.length > 0 ? [] : player.unused() };
}

/** What of input or config does not fit its schema. */
async function misfit({ input, config, file }: NamedFixture, judge: ValueJudge): Promise<Finding | undefined> {
  for (const [which, value] of [
    ['input', input],
    ['config', config],
  ] as const) {
    const [found] = await judge.check(which, JSON.stringify(value));
    if (found !== undefined) {
      const path = `/${which}${found.place.path ?? ''}`;
      return atFixture(found.rule, file, path, `${file}: ${found.message}`, found.hint);
    }
  }
  return undefined;
}

function attempt(
  { input, config }: NamedFixture,
  { project, pkg, bundle, bundleDigest }: FixturesRequest,
  options: FixturesOptions & { egress: Egress },
): Promise<AttemptReport> {
  const { driver, cellClass, image, egress, now, monotonicMs, bootMs, signal } = options;
  const limits = runLimits(pkg.manifest);
  const [run, id] = [newRunId(now()), newAttemptId(now())];
  return runAttempt(
    {
      plan: planRunCell(image, limits, cellClass),
      valueTexts: { input: JSON.stringify(input), config: JSON.stringify(config) },
      bundle,
      egress: { grant: httpGrant(pkg.manifest), policy: defaultEgressPolicy, record: async () => undefined },
      cpu: limits.cpu,
      timeoutMs: limits.timeoutMs,
      job: {
        ids: { project, run, attempt: id, node: pkg.manifest.id, correlation: run },
        nowMs: 0,
        timeoutMs: limits.timeoutMs,
        bundle: { digest: bundleDigest, sizeBytes: bundle.byteLength },
        limits: {
          outputBytes: limits.outputBytes,
          logBytes: limits.logBytes,
          filesBytes: limits.filesBytes,
          filesCount: limits.filesCount,
          scratchBytes: limits.scratchBytes,
        },
        http: pkg.manifest.capabilities.http !== undefined,
        idempotencyKey: id,
        input,
        config,
      },
    },
    { driver, blobs: discardedFiles, egress, now, monotonicMs, bootMs },
    {},
    signal,
  );
}

function verdictFindings(fixture: NamedFixture, report: AttemptReport): Finding[] {
  const { name, file, expect } = fixture;
  const { state, error, outputText } = report;
  // What this side refused of an output is wrong whatever a fixture expects.
  const refused = report.claimed ? undefined : refusals.find((code) => code === error?.code);
  if (error !== null && refused !== undefined)
    return [atFixture(refused, file, '/expect', `${name}: ${error.message}`, error.hint)];
  const output = outputText === null ? null : (JSON.parse(outputText) as Json);
  const verdict = judgeFixture(name, fixture, { state, output, error });
  if (verdict.matches) return [];
  const path = 'output' in expect ? `/expect/output${verdict.differsAt ?? ''}` : '/expect/error';
  return [atFixture('FIXTURE_DIFFERS', file, path, `${name}: ${difference(verdict, fixture, report)}`)];
}

function difference(verdict: FixtureVerdict, { expect }: NamedFixture, { state, error }: AttemptReport): string {
  const ended =
    error === null ? `it ended as ${state}` : `it failed with ${error.code}: ${error.message.slice(0, 300)}`;
  if ('error' in expect) return `expected the error ${expect.error}, but ${ended}`;
  if (verdict.differsAt === undefined) return `expected an output, but ${ended}`;
  const where = verdict.differsAt === '' ? 'the output' : verdict.differsAt;
  return `${where}: expected ${shown(verdict.expected)}, but it is ${shown(verdict.actual)}`;
}
