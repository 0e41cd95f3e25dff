import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { newAttemptId, newInstanceId, newRunId, type ReceiptPredicate } from '@glovebox/contract';
import { keyIdOf } from '../../src/keys.ts';
import type { StatementSigner } from '../../src/sign-statement.ts';

export const digestOf = (digit: string): string => `sha256:${digit.repeat(64)}`;

export const instance = newInstanceId();

export interface TestKey {
  signer: StatementSigner;
  privateKey: KeyObject;
  publicKey: KeyObject;
  publicKeyPem: string;
  keyId: string;
}

export function makeKey(): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keyId = keyIdOf(publicKey.export({ type: 'spki', format: 'der' }));
  return {
    privateKey,
    publicKey,
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    keyId,
    signer: { instance, keyId, sign: async (payload) => sign(null, payload, privateKey) },
  };
}

export function makePredicate(
  over: {
    mode?: ReceiptPredicate['mode'];
    release?: ReceiptPredicate['node']['release'];
    observed?: Partial<ReceiptPredicate['observed']>;
    claimed?: ReceiptPredicate['claimed'];
  } = {},
): ReceiptPredicate {
  return {
    attempt: newAttemptId(),
    run: newRunId(),
    instance,
    project: 'default',
    actor: 'local:uid=0',
    mode: over.mode ?? 'trial',
    node: {
      id: 'csv-profile',
      version: '1.2.3',
      revision: digestOf('1'),
      bundle: digestOf('2'),
      release: over.release ?? null,
    },
    observed: {
      state: 'SUCCEEDED',
      errorCode: null,
      startedAt: '2026-01-02T03:04:05.678Z',
      endedAt: '2026-01-02T03:04:06.789Z',
      phasesMs: { queue: 1.25, boot: 40, load: 2, run: 100, teardown: 9 },
      image: digestOf('3'),
      plan: digestOf('4'),
      class: 'ns',
      driver: { name: 'oci', runtime: 'crun', version: '1.8.1' },
      properties: ['no-network', 'seccomp'],
      acceptedRisks: [],
      permissions: digestOf('5'),
      limits: { memoryBytes: 134_217_728, cpu: 0.5 },
      peaks: { memoryBytes: 33_554_432, pids: null, outputBytes: 13 },
      exit: { code: 0, signal: null },
      inputDigest: digestOf('6'),
      configDigest: digestOf('7'),
      outputDigest: digestOf('8'),
      logBytes: 12,
      logDigest: digestOf('9'),
      files: [{ name: 'a.txt', mediaType: 'text/plain', digest: digestOf('a'), sizeBytes: 5 }],
      egress: { requests: 0, decisions: [] },
      slots: [],
      ...over.observed,
    },
    claimed: over.claimed ?? { errorCode: null, errorMessage: null },
  };
}
