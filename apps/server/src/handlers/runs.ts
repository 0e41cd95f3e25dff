import { setTimeout as sleep } from 'node:timers/promises';
import { type FileRecord, type Finding, GloveboxError, type Json } from '@glovebox/contract';
import type { AttemptErrorView, RunOutcome, RunView } from '@glovebox/contract/routes';
import type { Attempt, RunEvents, RunRecord, RunResult, RunStore, TrialCassette } from '@glovebox/engine';
import type { Call, GroupName, Handlers, Parts } from '../handler.ts';

import { filesOf } from '../snapshot.ts';
import { tellImage } from '../tell-image.ts';

const logPage = 1000;
const pollMs = 200;

export const runHandlers: Handlers<GroupName<'runs' | 'trials'>> = {
  'trials.run': async (call, { open }) => {
    const { openEngine, runTrial, withImages } = await import('@glovebox/engine');
    const engine = await openEngine(open);
    const { snapshot, inputText, configText, http } = call.body;
    const { project } = call.params;
    // Before the trial tells its first step: it would tell that one twice.
    await withImages(
      engine.images,
      (line) => tellImage(call, line),
      call.signal,
      () => engine.images.current('builder'),
    );
    const result = await runTrial(
      engine,
      {
        project,
        actor: call.actor,
        files: await filesOf(snapshot),
        inputText,
        configText,
        ...(http === undefined ? {} : { http }),
      },
      { ...eventsOf(call), onWarning: (finding) => call.tell({ event: 'warning', finding: plain(finding) }) },
      call.signal,
    );
    const { cassette, ...outcome } = result;
    return { ...outcomeOf(outcome), ...(cassette === undefined ? {} : { cassette: cassetteOf(cassette) }) };
  },

  'runs.start': async (call, { open }) => {
    const { openEngine, runRelease } = await import('@glovebox/engine');
    const { project } = call.params;
    const { release, ...result } = await runRelease(
      await openEngine(open),
      { ...call.body, project, actor: call.actor },
      { ...eventsOf(call), onDeprecated: (release) => call.tell({ event: 'deprecated', release }) },
      call.signal,
    );
    return { ...outcomeOf(result), release };
  },

  'runs.list': async ({ params, query }, { open }) => {
    const { store } = await open('store');
    const { limit = 20, before, node, state } = query;
    const runs = await store.list({
      project: params.project,
      limit,
      ...(before === undefined ? {} : { before }),
      ...(node === undefined ? {} : { node }),
      ...(state === undefined ? {} : { state }),
    });
    return { runs };
  },

  'runs.get': async ({ params }, parts) => viewOf(await findRun(parts, params)),

  'runs.logs': async (call, parts) => {
    const { params, query, signal } = call;
    const { store } = await parts.open('store');
    const found = await findRun(parts, params);
    const attempt = found.last.id;
    let seq = query.tail === undefined ? (query.after ?? 0) : await numberBefore(store, attempt, query.tail);
    const about = (state: Attempt['state']) => ({ run: found.run.id, attempt, state });
    if (!call.streaming) {
      const records = await store.logs(attempt, seq, query.limit ?? logPage);
      return { ...about(found.last.state), records: records.map(withFields) };
    }
    for (;;) {
      await parts.recover();
      // Read the state before the logs: what is written between the two is then read in the next round, never missed.
      const { last: now } = await findRun(parts, params);
      for (;;) {
        const more = await store.logs(attempt, seq, logPage);
        for (const record of more) await call.write({ event: 'log', record: withFields(record) });
        seq = more.at(-1)?.seq ?? seq;
        if (more.length < logPage || signal.aborted) break;
      }
      if (signal.aborted || query.follow !== true || now.end !== null) return { ...about(now.state), records: [] };
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    }
  },

  'runs.journal': async ({ params }, parts) => {
    const { store } = await parts.open('store');
    const { run } = await findRun(parts, params);
    return { entries: await store.journal(run.id) };
  },

  'runs.receipt': async ({ params }, parts) => {
    const { run, last } = await findRun(parts, params);
    const text = last.end?.receiptText ?? null;
    if (text === null) {
      throw new GloveboxError('NOT_FOUND', {
        message: `Run ${run.id} has no receipt.`,
        hint: 'Only attempts that had a cell have one.',
      });
    }
    return oneChunk(text);
  },

  'runs.file': async ({ params }, parts) => {
    const { run, last } = await findRun(parts, params);
    const file = last.end?.files.find(({ name }) => name === params.name);
    if (file === undefined) throw noSuchFile(run.id, params.name, last.end?.files ?? []);
    const { blobs } = await parts.open('blobs');
    return blobs.read(file.digest);
  },

  'runs.verify': async ({ params, body }, { open }) => {
    const { verifyRun } = await import('@glovebox/engine');
    const engine = await open('store', 'audit', 'keys');
    return verifyRun(engine, params.project, params.run, body.keys ?? engine.keys, body.retired);
  },
};

function eventsOf(call: Pick<Call<'trials.run'>, 'tell'>): RunEvents {
  return {
    onStep: (step, detail) => call.tell({ event: 'step', step, ...(detail === undefined ? {} : { detail }) }),
    onRun: ({ run, attempt }) => call.tell({ event: 'run', run, attempt }),
    onLog: (record) => call.tell({ event: 'log', record: withFields(record) }),
    onProgress: (progress) => call.tell({ event: 'progress', progress }),
  };
}

interface FoundRun {
  run: RunRecord;
  attempts: Attempt[];
  last: Attempt;
}

/** @throws GloveboxError `NOT_FOUND` when there is no such run in the project. */
async function findRun({ open }: Parts, { project, run }: { project: string; run: string }): Promise<FoundRun> {
  const { store } = await open('store');
  const found = await store.get(project, run);
  const last = found?.attempts.at(-1);
  if (!found || !last)
    throw new GloveboxError('NOT_FOUND', { message: `There is no run ${run}.`, hint: 'See glovebox run list.' });
  return { ...found, last };
}

/** The number after which the last `count` records come. */
async function numberBefore(store: RunStore, attempt: string, count: number): Promise<number> {
  const kept: number[] = [];
  let seq = 0;
  for (;;) {
    const page = await store.logs(attempt, seq, logPage);
    kept.push(...page.map((record) => record.seq));
    if (kept.length > count + 1) kept.splice(0, kept.length - count - 1);
    seq = page.at(-1)?.seq ?? seq;
    if (page.length < logPage) break;
  }
  return kept.length > count ? (kept[0] ?? 0) : 0;
}

function noSuchFile(run: string, name: string, files: readonly FileRecord[]): GloveboxError {
  const names = files.map((record) => record.name).join(', ');
  return new GloveboxError('NOT_FOUND', {
    message: `Run ${run} has no file ${name}.`,
    hint: names === '' ? 'It wrote none.' : `It has ${names}.`,
  });
}

function viewOf({ run, attempts }: FoundRun): RunView {
  return {
    run: { ...run, capabilities: run.capabilities as Json },
    attempts: attempts.map(({ id, number, state, createdAtMs, startedAtMs, end }) => {
      if (end === null) return { id, number, state, createdAtMs, startedAtMs, end };
      const { receiptText: _, ...rest } = end;
      return {
        id,
        number,
        state,
        createdAtMs,
        startedAtMs,
        end: { ...rest, error: end.error as AttemptErrorView | null },
      };
    }) as RunView['attempts'],
  };
}

/** Without what checks add for themselves. */
const plain = ({ rule, severity, message, hint, place, fix }: Finding): Finding => ({
  rule,
  severity,
  message,
  hint,
  place,
  ...(fix === undefined ? {} : { fix }),
});

const cassetteOf = (cassette: TrialCassette): TrialCassette =>
  cassette.kind === 'replayed' ? { ...cassette, findings: cassette.findings.map(plain) } : cassette;

const outcomeOf = (result: RunResult): RunOutcome => result as RunOutcome;

/** A log record whose fields are JSON values by the check that let it in. */
const withFields = <Entry extends { fields?: unknown }>(record: Entry): Entry & { fields?: Json } =>
  record as Entry & { fields?: Json };

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
