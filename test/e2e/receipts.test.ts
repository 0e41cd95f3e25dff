import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ErrorCode, errorCodes, type ReceiptPredicate } from '@glovebox/contract';
import { verifyRun } from '@glovebox/engine';
import { describe, expect, it } from 'vitest';
import type { TestRun } from '../support/engine.ts';
import { forger } from '../support/forger.ts';
import type { NodeSource } from '../support/node-package.ts';
import { useEngine } from '../support/use-engine.ts';
import { withoutFlags } from '../support/without-flags.ts';

const cells = useEngine();
const weakened = useEngine(withoutFlags);
const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

async function receiptOf({ run }: Pick<TestRun, 'run'>, by = cells()): Promise<ReceiptPredicate> {
  const { engine, dataDir } = by;
  const key = readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
  return (await verifyRun(engine, 'default', run, [key])).statement.predicate;
}

/** Outcomes of every kind: what the host saw, and what the node said of it. */
const outcomes: Record<string, { source: NodeSource; observed: object; claimed: [string | null, unknown] }> = {
  'a success': {
    source: { body: 'return { a: 1 }' },
    observed: { state: 'SUCCEEDED', errorCode: null, outputDigest: sha256('{"a":1}') },
    claimed: [null, null],
  },
  'an error': {
    source: { body: `throw new Error('own words')` },
    observed: { state: 'FAILED', errorCode: 'NODE_FAILED', outputDigest: null },
    claimed: ['NODE_FAILED', 'own words'],
  },
  'an error of its own': {
    source: {
      top: `import { NodeError } from '@glovebox/sdk';`,
      body: `throw new NodeError('NO_SUCH_ROW', 'own words')`,
    },
    observed: { state: 'FAILED', errorCode: 'NODE_FAILED' },
    claimed: ['NO_SUCH_ROW', 'own words'],
  },
  'a deadline': {
    source: { body: 'for (;;) {}', manifest: { resources: { timeout: '2s' } } },
    observed: { state: 'TIMED_OUT', errorCode: 'TIMED_OUT' },
    claimed: [null, null],
  },
  'a lack of memory': {
    source: {
      body: 'const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1));',
      manifest: { resources: { memory: '64MiB' } },
    },
    observed: { state: 'OUT_OF_MEMORY', errorCode: 'OUT_OF_MEMORY' },
    claimed: [null, null],
  },
  'an output that is too large': {
    source: { body: `return 'x'.repeat(1 << 20)` },
    observed: { state: expect.stringMatching(/^(OUTPUT_TOO_LARGE|FAILED)$/), outputDigest: null },
    claimed: ['OUTPUT_TOO_LARGE', expect.any(String)],
  },
  'an output against its schema': {
    source: { body: 'return 1', manifest: { output: { type: 'string' } } },
    observed: { state: 'FAILED', errorCode: 'OUTPUT_INVALID', outputDigest: null },
    claimed: [null, null],
  },
  'a crash': {
    source: { body: 'process.abort()' },
    observed: {
      state: 'CRASHED',
      errorCode: 'NODE_CRASHED',
      exit: { code: null, signal: expect.stringMatching(/^SIG(ABRT|SEGV|ILL|TRAP)$/) },
    },
    claimed: [null, null],
  },
  'a broken channel': {
    source: {
      top: forger,
      body: `send(Buffer.from('x'.repeat(100))); for (;;) {}`,
      manifest: { resources: { timeout: '20s' } },
    },
    observed: { state: 'CHANNEL_CORRUPTED', errorCode: 'CHANNEL_CORRUPTED' },
    claimed: [null, null],
  },
};

describe('a receipt', () => {
  it.each(Object.entries(outcomes))(
    'of %s verifies, and keeps apart what was seen and what was said',
    async (_, { source, observed, claimed }) => {
      const result = await cells().run(source, { input: { n: 1 } });
      const predicate = await receiptOf(result);
      expect(predicate.observed).toMatchObject({
        inputDigest: sha256('{"n":1}'),
        configDigest: sha256('{}'),
        acceptedRisks: [],
        egress: { requests: 0, decisions: [] },
        slots: [],
        class: 'ns',
        ...observed,
      });
      expect([predicate.claimed.errorCode, predicate.claimed.errorMessage]).toEqual([
        claimed[0],
        typeof claimed[1] === 'string' ? expect.stringContaining(claimed[1]) : claimed[1],
      ]);
      expect(predicate).toMatchObject({ run: result.run, attempt: result.attempt, node: { bundle: result.digest } });
    },
  );

  it('names what was in force in the cell, and says so where it was weakened', async () => {
    const { observed } = await receiptOf(await cells().run({ body: 'return 1' }));
    expect(observed.properties).toEqual(
      expect.arrayContaining([
        'seccomp',
        'namespace-user',
        'capabilities-none',
        'root-read-only',
        'scratch-limited',
        'deadline',
      ]),
    );
    expect(observed.properties).not.toContain('weakened-for-test');

    const weak = await receiptOf(await weakened().run({ body: 'return 1' }), weakened());
    expect(weak.observed.properties).toContain('weakened-for-test');
  });
});

describe('what a node says of itself', () => {
  /** Forged results: the node speaks to the host as its harness would. */
  const forged = (error: object): NodeSource => ({
    top: forger,
    body: `ask('POST', 'http://control.invalid/result', { 'glovebox-result': 'error' }, ${JSON.stringify(JSON.stringify(error))}); for (;;) {}`,
    manifest: { resources: { timeout: '30s' } },
  });

  it('is never under what was observed, whichever code of ours it takes into its mouth', async () => {
    const hostOnly: ErrorCode[] = [
      'TIMED_OUT',
      'OUT_OF_MEMORY',
      'PIDS_EXCEEDED',
      'CANCELLED',
      'CHANNEL_ABUSE',
      'CELL_LOST',
      'RECEIPT_INVALID',
      'INTERNAL',
    ];
    for (const code of hostOnly) {
      const result = await cells().run(forged({ code, message: 'forged' }));
      expect([code, result.state, result.error?.code]).toEqual([code, 'FAILED', 'NODE_FAILED']);
      const { observed, claimed } = await receiptOf(result);
      expect([code, observed.state, observed.errorCode]).toEqual([code, 'FAILED', 'NODE_FAILED']);
      expect(claimed.errorMessage).toBe('forged');
      expect(errorCodes).toContain(code);
    }
  });

  it('cannot add a field to the receipt, nor make one longer than it may be', async () => {
    const huge = await receiptOf(await cells().run(forged({ code: 'X', message: 'x'.repeat(16_000) })));
    expect(huge.claimed).toEqual({ errorCode: 'X', errorMessage: 'x'.repeat(1000) });
    const extra = await cells().run(forged({ code: 'X', message: 'y', observed: { state: 'SUCCEEDED' } }));
    expect(extra.state).toBe('CHANNEL_ABUSE');
    const { observed, claimed } = await receiptOf(extra);
    expect([observed.state, claimed.errorCode]).toEqual(['CHANNEL_ABUSE', null]);
  });

  it('of its own output and files is checked by digests that the host made', async () => {
    const result = await cells().run({
      top: forger,
      body: `
        ask('PUT', 'http://control.invalid/files/a.txt', { digest: 'sha256:' + '0'.repeat(64), 'content-length': '3' }, 'real content');
        ask('POST', 'http://control.invalid/result', { 'glovebox-result': 'output', digest: 'sha256:' + '0'.repeat(64) }, '"real"'); for (;;) {}`,
      manifest: { capabilities: { files: { maxBytes: '1KiB' } }, resources: { timeout: '30s' } },
    });
    const { observed } = await receiptOf(result);
    expect(observed.outputDigest).toBe(sha256('"real"'));
    expect(observed.files).toEqual([
      { name: 'a.txt', mediaType: 'application/octet-stream', digest: sha256('real content'), sizeBytes: 12 },
    ]);
  });
});

describe('verification', () => {
  const source: NodeSource = {
    body: `ctx.log.info('logged'); await ctx.files.write('a.txt', 'a'); return 'output'`,
    manifest: { capabilities: { files: { maxBytes: '1KiB' } } },
  };

  it.each([
    ['the input', `UPDATE run_inputs SET input_text = '{"n":2}'`],
    ['the config', `UPDATE run_inputs SET config_text = '{"n":2}'`],
    ['the output', `UPDATE attempt_ends SET output_text = '"forged"'`],
    ['what was logged', `UPDATE logs SET message = 'forged'`],
    ['a line of the log less', 'DELETE FROM logs'],
    [
      'a line of the log more',
      `INSERT INTO logs SELECT attempt_id, seq + 1, at_ms, source, level, message, fields_json FROM logs`,
    ],
    ['the name of a file', `UPDATE files SET name = 'forged.txt'`],
    ['the digest of a file', `UPDATE files SET digest = 'sha256:' || hex(zeroblob(32))`],
    ['the node that ran', `UPDATE runs SET node_version = '9.9.9'`],
    ['the receipt', `UPDATE attempt_ends SET receipt_text = replace(receipt_text, 'payload', 'payl0ad')`],
  ])('fails when %s in the store is not what the receipt says', async (_, change) => {
    const { engine, dataDir } = cells();
    const result = await cells().run(source, { input: { n: 1 } });
    await expect(receiptOf(result)).resolves.toBeDefined();
    const database = new DatabaseSync(join(dataDir, 'glovebox.db'));
    try {
      database.exec('PRAGMA busy_timeout = 5000');
      const which: Record<string, string> = {
        runs: `id = '${result.run}'`,
        run_inputs: `run_id = '${result.run}'`,
      };
      const table = /(?:UPDATE|DELETE FROM|INSERT INTO) (\w+)/.exec(change)?.[1] ?? '';
      database.exec(`${change} WHERE ${which[table] ?? `attempt_id = '${result.attempt}'`}`);
    } finally {
      database.close();
    }
    await expect(receiptOf(result)).rejects.toMatchObject({ code: expect.stringMatching(/^RECEIPT_/) });
    expect((await engine.store.get('default', result.run))?.run.id).toBe(result.run);
  });

  it('fails without the key of the instance, with another key, and for another project', async () => {
    const { engine, dataDir } = cells();
    const { run } = await cells().run({ body: 'return 1' });
    const own = readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
    const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string;
    await expect(verifyRun(engine, 'default', run, [other, own])).resolves.toBeDefined();
    for (const keys of [[], [other]])
      await expect(verifyRun(engine, 'default', run, keys)).rejects.toMatchObject({
        code: 'RECEIPT_KEY_UNKNOWN',
      });
    await expect(verifyRun(engine, 'another', run, [own])).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is of a record that is closed: nothing is added to the log of an attempt that has ended', async () => {
    const { engine } = cells();
    const result = await cells().run(source);
    await engine.store
      .appendLogs(result.attempt, [{ atMs: 1, source: 'node', level: 'info', message: 'added later' }])
      .catch(() => undefined);
    expect((await engine.store.logs(result.attempt)).map(({ message }) => message)).toEqual(['logged']);
    await expect(receiptOf(result)).resolves.toBeDefined();
  });
});
