import { describe, expect, it } from 'vitest';
import { digestOf, makeKey, makePredicate } from '../test/support/predicate.ts';
import { compareReceipt, type RecordedAttempt, sha256Of, signReceipt, verifyReceipt } from './index.ts';

const key = makeKey();
const texts = { input: '{"a":1}', config: '{}', output: '[1,2]' };
const release = { ref: 'default/csv-profile@1.2.3', digest: digestOf('b') };
const predicate = makePredicate({
  mode: 'release',
  release,
  observed: {
    inputDigest: sha256Of(texts.input),
    configDigest: sha256Of(texts.config),
    outputDigest: sha256Of(texts.output),
  },
});
const { envelopeText } = await signReceipt(predicate, key.signer);
const verified = verifyReceipt(Buffer.from(envelopeText), { keys: [key.publicKeyPem] });
if (!verified.ok) throw new Error(verified.error.message);
const { statement } = verified;

const record: RecordedAttempt = {
  run: predicate.run,
  attempt: predicate.attempt,
  state: 'SUCCEEDED',
  project: predicate.project,
  actor: predicate.actor,
  mode: 'release',
  release,
  node: predicate.node,
  bundleDigest: predicate.node.bundle,
  imageDigest: predicate.observed.image,
  inputText: texts.input,
  configText: texts.config,
  outputText: texts.output,
  logDigest: predicate.observed.logDigest,
  logBytes: predicate.observed.logBytes,
  limits: predicate.observed.limits as unknown as RecordedAttempt['limits'],
  phasesMs: predicate.observed.phasesMs,
  peaks: predicate.observed.peaks,
  files: predicate.observed.files,
};

it('finds a record that is as the receipt says in agreement with it', () => {
  expect(compareReceipt(statement, record)).toBeUndefined();
});

const [file] = predicate.observed.files;
it.each<[string, Partial<RecordedAttempt>]>([
  ['run', { run: makePredicate().run }],
  ['attempt', { attempt: makePredicate().attempt }],
  ['state', { state: 'FAILED' }],
  ['node', { node: { ...predicate.node, version: '1.2.4' } }],
  ['release', { release: null }],
  ['release', { release: { ...release, digest: digestOf('c') } }],
  ['release', { release: { ...release, ref: 'default/csv-profile@1.2.4' } }],
  ['release', { mode: 'trial' }],
  ['bundle', { bundleDigest: null }],
  ['image', { imageDigest: digestOf('0') }],
  ['input', { inputText: '{"a":2}' }],
  ['config', { configText: '{} ' }],
  ['output', { outputText: null }],
  ['output', { outputText: '[1,3]' }],
  ['logs', { logDigest: digestOf('0') }],
  ['logs', { logBytes: 1_000_000 }],
  ['actor', { actor: 'local:uid=4711' }],
  ['actor', { project: 'other' }],
  ['limits', { limits: { ...(predicate.observed.limits as unknown as RecordedAttempt['limits']), pids: 4711 } }],
  ['phases', { phasesMs: { ...predicate.observed.phasesMs, run: 4711 } }],
  ['peaks', { peaks: { ...predicate.observed.peaks, memoryBytes: 1 } }],
  ['files', { files: [] }],
  ['files', { files: [...predicate.observed.files, ...predicate.observed.files] }],
  ['files', { files: file ? [{ ...file, digest: digestOf('0') }] : [] }],
])('names the %s when it was changed in the record', (part, change) => {
  expect(compareReceipt(statement, { ...record, ...change })).toMatchObject({
    code: 'RECEIPT_MISMATCH',
    details: { differs: [part] },
  });
});

it('names every part that was changed', () => {
  expect(compareReceipt(statement, { ...record, inputText: '0', state: 'LOST' })?.details).toEqual({
    differs: ['state', 'input'],
  });
});

describe('a state that the cell claimed', () => {
  const signed = async (state: 'FAILED' | 'SUCCEEDED', errorCode: string) => {
    const claims = makePredicate({
      mode: 'release',
      release,
      observed: { ...predicate.observed, state },
      claimed: { errorCode, errorMessage: 'm' },
    });
    const envelope = await signReceipt({ ...claims, run: predicate.run, attempt: predicate.attempt }, key.signer);
    const result = verifyReceipt(Buffer.from(envelope.envelopeText), { keys: [key.publicKeyPem] });
    if (!result.ok) throw new Error(result.error.message);
    return result.statement;
  };

  it('may stand in the record where the receipt has the claim', async () => {
    expect(
      compareReceipt(await signed('FAILED', 'SCRATCH_FULL'), { ...record, state: 'SCRATCH_FULL' }),
    ).toBeUndefined();
  });

  it.each([
    ['no such claim', 'FAILED', 'OUTPUT_TOO_LARGE', 'SCRATCH_FULL'],
    ['a claim of what only a host can see', 'FAILED', 'TIMED_OUT', 'TIMED_OUT'],
    ['a claim of success', 'FAILED', 'SUCCEEDED', 'SUCCEEDED'],
    ['an attempt that the host saw succeed', 'SUCCEEDED', 'SCRATCH_FULL', 'SCRATCH_FULL'],
  ] as const)('may not with %s', async (_, observed, claimed, state) => {
    expect(compareReceipt(await signed(observed, claimed), { ...record, state })?.details).toEqual({
      differs: ['state'],
    });
  });
});
