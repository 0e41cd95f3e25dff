import { GloveboxError } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { type CheckEvent, Checklist } from './checklist.ts';
import { judged } from './outcome.ts';
import { verdictOf } from './report.ts';

function open(signal?: AbortSignal): { checklist: Checklist; told: string[] } {
  const told: string[] = [];
  const onEvent = (event: CheckEvent): void => {
    told.push(event.kind === 'started' ? `${event.check} started` : `${event.result.id} ${event.result.state}`);
  };
  let clock = 0;
  return { checklist: new Checklist(() => clock++, onEvent, signal), told };
}

const fault = {
  rule: 'TYPES_FAILED',
  severity: 'error',
  message: 'm',
  hint: 'h',
  place: { file: 'a.ts', line: 3 },
} as const;

describe('a check', () => {
  it('starts once and ends once, with its findings in their flat form', async () => {
    const { checklist, told } = open();
    expect(await checklist.perform('types', async () => judged([fault], { files: 2 }))).toBe('failed');
    expect(told).toEqual(['types started', 'types failed']);
    expect(checklist.results()).toEqual([
      { id: 'types', state: 'failed', durationMs: 1, cached: false, findings: 1, facts: { files: 2 } },
    ]);
    expect(checklist.findings()).toEqual([
      {
        rule: 'TYPES_FAILED',
        severity: 'error',
        check: 'types',
        file: 'a.ts',
        path: null,
        line: 3,
        column: null,
        message: 'm',
        hint: 'h',
      },
    ]);
  });

  it.each([
    ['CELL_LOST', 'unavailable'],
    ['REGISTRY_UNAVAILABLE', 'unavailable'],
    ['IMAGE_MISSING', 'unavailable'],
    ['DISK_FULL', 'unavailable'],
    ['DEPENDENCY_INTEGRITY', 'failed'],
    ['CHANNEL_ABUSE', 'failed'],
    ['SCHEMA_TOO_COSTLY', 'failed'],
  ] as const)('that throws %s is %s, and says so in a finding', async (code, state) => {
    const { checklist } = open();
    expect(await checklist.perform('build', () => Promise.reject(new GloveboxError(code)))).toBe(state);
    expect(checklist.findings()).toMatchObject([{ rule: code, check: 'build', severity: 'error' }]);
  });

  it('passes on what is a defect of ours', async () => {
    for (const error of [new GloveboxError('INTERNAL'), new TypeError('x')]) {
      await expect(open().checklist.perform('build', () => Promise.reject(error))).rejects.toBe(error);
    }
  });

  it('is cancelled when it is stopped, whatever it threw then, and is not begun after that', async () => {
    const stop = new AbortController();
    const { checklist } = open(stop.signal);
    const state = await checklist.perform('tests', () => {
      stop.abort();
      return Promise.reject(new GloveboxError('CELL_LOST'));
    });
    let begun = false;
    const next = await checklist.perform('types', async () => {
      begun = true;
      return judged([]);
    });
    checklist.skip('fixtures');
    expect([state, next, begun, checklist.results().map((result) => result.state)]).toEqual([
      'cancelled',
      'cancelled',
      false,
      ['cancelled', 'cancelled', 'cancelled'],
    ]);
    expect(verdictOf(checklist)).toBe('none');
  });
});

describe('the verdict', () => {
  const ended = (...states: ('passed' | 'failed' | 'skipped' | 'unavailable')[]) => {
    const { checklist } = open();
    for (const [i, state] of states.entries())
      checklist.end((['types', 'build', 'tests'] as const)[i] ?? 'fixtures', { state, findings: [], facts: {} });
    return verdictOf(checklist);
  };

  it('is a pass only when every check has passed, and a failure as soon as one has failed', () => {
    expect(ended('passed', 'passed', 'passed')).toBe('passed');
    expect(ended('passed', 'failed', 'skipped')).toBe('failed');
    expect(ended('unavailable', 'failed')).toBe('failed');
    expect(ended('passed', 'unavailable')).toBe('none');
    expect(ended('passed', 'skipped')).toBe('none');
  });

  it('lists checks in the order in which they are shown, however they ended', () => {
    const { checklist } = open();
    for (const check of ['fixtures', 'package', 'types'] as const) checklist.end(check, judged([]));
    expect(checklist.results().map(({ id }) => id)).toEqual(['package', 'types', 'fixtures']);
  });
});
