import type { CellEnd } from '@glovebox/cell';
import { expect, it } from 'vitest';
import { decideOutcome, type Evidence } from './outcome.ts';

const end = (cause: CellEnd['cause'], more: Partial<CellEnd> = {}): CellEnd => ({
  cause,
  exit: { code: null, signal: 'SIGKILL' },
  pidsLimitHit: false,
  peakMemoryBytes: 1,
  peakPids: 1,
  teardownMs: 1,
  ...more,
});
const evidence = (more: Partial<Evidence>): Evidence => ({
  violation: undefined,
  result: undefined,
  cancelled: undefined,
  end: end('done'),
  stderrTail: '',
  timeoutMs: 100,
  ...more,
});
const exited = (code: number, more: Partial<CellEnd> = {}): CellEnd =>
  end('self', { exit: { code, signal: null }, ...more });
const output = { kind: 'output', text: '1' } as const;
const notGone = (cause: CellEnd['cause']): CellEnd =>
  end(cause, { error: { code: 'CELL_LOST', message: 'A cell could not be confirmed dead: cell_x' } });

it.each<[string, Partial<Evidence>, string, string | null]>([
  ['an output', { result: output }, 'SUCCEEDED', null],
  [
    'an error of the author',
    { result: { kind: 'error', error: { code: 'MY_CODE', message: 'm' } } },
    'FAILED',
    'MY_CODE',
  ],
  [
    'a full scratch directory',
    { result: { kind: 'error', error: { code: 'SCRATCH_FULL', message: 'm' } } },
    'SCRATCH_FULL',
    'SCRATCH_FULL',
  ],
  [
    'an output that the harness found too large',
    { result: { kind: 'error', error: { code: 'OUTPUT_TOO_LARGE', message: 'm' } } },
    'OUTPUT_TOO_LARGE',
    'OUTPUT_TOO_LARGE',
  ],
  [
    'a broken rule beside a result',
    { result: output, violation: { code: 'CHANNEL_ABUSE', detail: 'd' } },
    'CHANNEL_ABUSE',
    'CHANNEL_ABUSE',
  ],
  ['a cancellation, even with a result', { result: output, cancelled: 'by hand' }, 'CANCELLED', 'CANCELLED'],
  ['the deadline', { end: end('deadline') }, 'TIMED_OUT', 'TIMED_OUT'],
  ['the end of its lifetime', { end: end('lifetime') }, 'TIMED_OUT', 'TIMED_OUT'],
  ['a kill for memory', { end: end('oom') }, 'OUT_OF_MEMORY', 'OUT_OF_MEMORY'],
  [
    'a heap that is full',
    { end: exited(134), stderrTail: 'FATAL ERROR: JavaScript heap out of memory' },
    'OUT_OF_MEMORY',
    'OUT_OF_MEMORY',
  ],
  ['an exit of its own', { end: exited(0) }, 'CRASHED', 'NODE_EXITED'],
  ['a signal of its own', { end: exited(139) }, 'CRASHED', 'NODE_CRASHED'],
  ['an exit after the pids limit', { end: exited(134, { pidsLimitHit: true }) }, 'PIDS_EXCEEDED', 'PIDS_EXCEEDED'],
  [
    'an error after the pids limit',
    { result: { kind: 'error', error: { code: 'X', message: 'm' } }, end: end('done', { pidsLimitHit: true }) },
    'PIDS_EXCEEDED',
    'PIDS_EXCEEDED',
  ],
  [
    'an output in spite of the pids limit',
    { result: output, end: end('done', { pidsLimitHit: true }) },
    'SUCCEEDED',
    null,
  ],
  [
    'a cell that is not confirmed dead, whatever it gave',
    { result: output, end: notGone('done') },
    'LOST',
    'CELL_LOST',
  ],
  [
    'a cell that is not confirmed dead, whatever it did',
    { violation: { code: 'CHANNEL_ABUSE', detail: 'd' }, cancelled: 'by hand', end: notGone('violation') },
    'LOST',
    'CELL_LOST',
  ],
  ['an end that nothing explains', { end: end('done') }, 'LOST', 'CELL_LOST'],
])('%s decides the state', (_name, more, state, code) => {
  const outcome = decideOutcome(evidence(more));
  expect([outcome.state, outcome.error?.code ?? null]).toEqual([state, code]);
  expect(outcome.outputText).toBe(state === 'SUCCEEDED' ? '1' : null);
});

it('does not believe a code that only the host may give', () => {
  for (const code of ['TIMED_OUT', 'OUT_OF_MEMORY', 'CHANNEL_ABUSE', 'OUTPUT_INVALID', 'RECEIPT_SIGNATURE']) {
    const outcome = decideOutcome(evidence({ result: { kind: 'error', error: { code, message: 'm' } } }));
    expect([outcome.state, outcome.error?.code]).toEqual(['FAILED', 'NODE_FAILED']);
  }
});

it('does not believe words about memory on stderr when the process left in peace', () => {
  expect(decideOutcome(evidence({ end: exited(0), stderrTail: 'heap out of memory' })).state).toBe('CRASHED');
});

it('keeps what the cell says of how it failed apart from what the host saw', () => {
  const said = (code: string) => decideOutcome(evidence({ result: { kind: 'error', error: { code, message: 'm' } } }));
  const failed = { state: 'FAILED', errorCode: 'NODE_FAILED' };
  for (const code of ['SCRATCH_FULL', 'OUTPUT_TOO_LARGE', 'MY_CODE']) {
    expect(said(code)).toMatchObject({ claimed: true, observed: failed });
  }
  const heap = decideOutcome(evidence({ end: exited(134), stderrTail: 'JavaScript heap out of memory' }));
  expect(heap).toMatchObject({ claimed: true, observed: { state: 'CRASHED', errorCode: 'NODE_CRASHED' } });
});

it.each<[string, Partial<Evidence>]>([
  ['an output', { result: output }],
  ['a broken rule', { violation: { code: 'OUTPUT_TOO_LARGE', detail: 'd' } }],
  ['a kill for memory', { end: end('oom') }],
  ['a crash', { end: exited(139) }],
  [
    'the pids limit',
    { result: { kind: 'error', error: { code: 'X', message: 'm' } }, end: end('done', { pidsLimitHit: true }) },
  ],
])('takes %s for seen, as it is', (_name, more) => {
  const outcome = decideOutcome(evidence(more));
  expect(outcome.claimed).toBe(false);
  expect(outcome.observed).toEqual({ state: outcome.state, errorCode: outcome.error?.code ?? null });
});
