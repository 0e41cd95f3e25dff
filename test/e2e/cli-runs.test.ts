import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { CliRun } from '../support/cli.ts';
import { inWay, manyWays } from '../support/many-ways.ts';
import { makeCliHome, useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
beforeAll(async () => {
  await cli().node('many-ways', manyWays);
  expect((await cli().run(inWay('echo', 'first'))).code).toBe(0);
});

const runKeys = ['attempt', 'digest', 'error', 'output', 'peaks', 'phasesMs', 'receiptDigest', 'run', 'state'];
const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);

interface RunDocument {
  run: string;
  attempt: string;
  state: string;
  output: { value: unknown } | null;
  error: { code: string } | null;
  files?: { name: string; digest: string }[];
}
function documentOf({ stdout }: CliRun): RunDocument {
  const document = JSON.parse(stdout) as RunDocument;
  if (document.run === undefined) throw new Error(`it gave no run: ${stdout}`);
  return document;
}
const runJson = async (way: string, value?: unknown): Promise<RunDocument> =>
  documentOf(await cli().run([...inWay(way, value), '--json']));

describe.concurrent('glovebox node run', () => {
  it('prints the output on stdout and what happens on stderr', async () => {
    const { code, stdout, stderr } = await cli().run(inWay('log'));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ value: null });
    for (const text of [
      'at debug',
      'at info {"n":1}',
      'at warn',
      'at error',
      '[console] by console',
      '[stdout] by stdout',
    ])
      expect(stderr).toContain(text);
    expect(stderr).toMatch(/SUCCEEDED {2}many-ways@1\.0\.0/);
    expect(stderr).toMatch(/run run_[0-9a-z]{22} {2}receipt sha256:/);
  });

  it('prints one document with exactly the documented keys, and nothing else, with --json', async () => {
    const result = await cli().run([...inWay('echo', [1, 'ü', { __proto__x: null }]), '--json']);
    expect({ code: result.code, stderr: result.stderr }).toEqual({ code: 0, stderr: '' });
    const document = result.json();
    expect(Object.keys(document).sort()).toEqual(runKeys);
    expect(document).toMatchObject({
      run: expect.stringMatching(/^run_[0-9a-z]{22}$/),
      attempt: expect.stringMatching(/^att_[0-9a-z]{22}$/),
      state: 'SUCCEEDED',
      output: { value: [1, 'ü', { __proto__x: null }] },
      error: null,
      digest,
      receiptDigest: digest,
    });
    const { phasesMs, peaks } = document as { phasesMs: object; peaks: Record<string, number> };
    expect(Object.keys(phasesMs)).toEqual(['queue', 'boot', 'load', 'run', 'teardown']);
    expect(Object.values(phasesMs).every((ms) => typeof ms === 'number' && ms >= 0)).toBe(true);
    expect(Object.keys(peaks)).toEqual(['memoryBytes', 'pids', 'outputBytes']);
    expect(peaks.outputBytes).toBe(Buffer.byteLength(JSON.stringify(document.output)));
  });

  it('prints one JSON value a line with --json=lines, live, and the result last', async () => {
    const running = cli().start([...inWay('wait', 1500), '--json=lines']);
    await running.seen('stdout', /"message":"waiting"/);
    expect(running.child.exitCode).toBeNull();
    const { code, stdout, stderr } = await running.done;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; step?: string; message?: string });
    expect(lines.filter(({ event }) => event === 'step').map(({ step }) => step)).toEqual([
      'read',
      'check',
      'boot',
      'load',
      'run',
      'teardown',
    ]);
    expect(lines.filter(({ event }) => event === 'log').map(({ message }) => message)).toEqual(['waiting', 'waited']);
    expect(lines.filter(({ event }) => event === 'run')).toHaveLength(1);
    const { event, ...result } = lines.at(-1) as Record<string, unknown>;
    expect({ event, keys: Object.keys(result).sort() }).toEqual({ event: 'result', keys: runKeys });
  });

  it('tells what is odd about a package, and runs it all the same', async () => {
    await cli().node('odd', {
      id: 'odd',
      body: 'return 1;',
      files: { '.npmrc': 'registry=https://example.com/', 'dist/x.js': '' },
    });
    const { code, stderr } = await cli().run(['node', 'run', 'odd', '--trial']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^warning \.npmrc \.npmrc is ignored/m);
    expect(stderr).toMatch(/^warning dist dist is not used/m);
    const { stdout } = await cli().run(['node', 'run', 'odd', '--trial', '--json=lines']);
    const warnings = stdout.split('\n').filter((line) => line.includes('"event":"warning"'));
    expect(warnings.map((line) => JSON.parse(line))).toMatchObject([{ severity: 'warning' }, { severity: 'warning' }]);
  });

  it('tells progress as it comes', async () => {
    const { stdout } = await cli().run([...inWay('progress', 1), '--json=lines']);
    const progress = stdout.split('\n').filter((line) => line.includes('"event":"progress"'));
    // Reports that follow fast on each other are merged; the last one always comes.
    expect(JSON.parse(progress.at(-1) ?? '')).toEqual({ event: 'progress', fraction: 1, message: 'all' });
    expect((await cli().run(inWay('progress', 1))).stderr).toMatch(/^· 100 % all$/m);
  });

  it('is quiet with --quiet, but for the result', async () => {
    const { code, stdout, stderr } = await cli().run([...inWay('log'), '--quiet']);
    expect({ code, stderr, stdout: JSON.parse(stdout) }).toEqual({ code: 0, stderr: '', stdout: { value: null } });
  });

  it('takes input and config as text, from a file, and from standard input', async () => {
    const { dir, run } = cli();
    writeFileSync(join(dir, 'in.json'), '{"do":"echo","value":"of a file"}');
    writeFileSync(join(dir, 'config.json'), '{"mode":"b"}');
    const node = ['node', 'run', 'many-ways', '--trial', '--json'];
    const ran = async (args: string[], stdin?: string): Promise<{ run: string; value: unknown }> => {
      const result = await run([...node, ...args], stdin === undefined ? {} : { stdin });
      expect({ args, code: result.code }).toEqual({ args, code: 0 });
      return { run: result.json().run as string, value: (result.json().output as { value: unknown }).value };
    };
    expect((await ran(['--input', '@in.json', '--config', '@config.json'])).value).toBe('of a file');
    const piped = await ran(['-i', '@-', '-c', '{"mode":"a"}'], '{"do":"echo","value":"of a pipe"}');
    expect(piped.value).toBe('of a pipe');
    expect((await ran(['--input={"do":"echo","value":-1}'])).value).toBe(-1);
    const texts = ['--input-text', 'text=@in.json', '--input-text', 'more=@-'];
    const { run: id } = await ran(['-i', '{"do":"echo","value":null}', ...texts], 'piped');
    const document = (await run(['run', 'show', id, '--json'])).json();
    expect(document.input).toEqual({
      do: 'echo',
      value: null,
      text: '{"do":"echo","value":"of a file"}',
      more: 'piped',
    });
  });

  it.each([
    ['good', 0, { name: 'good', matches: true }],
    ['fails-as-told', 0, { name: 'fails-as-told', matches: true }],
    ['differs', 1, { name: 'differs', matches: false, differsAt: '/value/list/1', expected: 3, actual: 2 }],
    ['fails-otherwise', 1, { name: 'fails-otherwise', matches: false, expected: { error: 'NO_LUCK' } }],
    ['should-succeed', 1, { name: 'should-succeed', matches: false, expected: { state: 'SUCCEEDED' } }],
  ])('compares the fixture %s with what came', async (name, code, verdict) => {
    const result = await cli().run(['node', 'run', 'many-ways', '--trial', '--fixture', name, '--json']);
    expect(result.code).toBe(code);
    expect(result.json().fixture).toEqual(verdict);
    expect(Object.keys(result.json()).sort()).toEqual([...runKeys, 'fixture'].sort());
  });

  it.each<[string, unknown, string, string]>([
    ['throw', { code: 'ORDER_GONE', message: 'no such order' }, 'FAILED', 'ORDER_GONE'],
    ['crash', undefined, 'FAILED', 'NODE_FAILED'],
    ['exit', undefined, 'FAILED', 'NODE_EXITED'],
    ['abort', undefined, 'CRASHED', 'NODE_CRASHED'],
    ['memory', undefined, 'OUT_OF_MEMORY', 'OUT_OF_MEMORY'],
    ['output', 70_000, 'OUTPUT_TOO_LARGE', 'OUTPUT_TOO_LARGE'],
    ['misfit', undefined, 'FAILED', 'OUTPUT_INVALID'],
    ['scratch', undefined, 'SCRATCH_FULL', 'SCRATCH_FULL'],
  ])('exits 1 when the node ends by %s, and says how', async (way, value, state, code) => {
    const result = await cli().run([...inWay(way, value), '--json']);
    expect({ exit: result.code, stderr: result.stderr }).toEqual({ exit: 1, stderr: '' });
    const document = documentOf(result);
    expect({ state: document.state, code: document.error?.code, output: document.output }).toEqual({
      state,
      code,
      output: null,
    });
    if (way !== 'memory') return;
    const text = await cli().run(['run', 'show', document.run]);
    expect(text.stdout).toMatch(/OUT_OF_MEMORY(.|\n)*error\n {2}OUT_OF_MEMORY: /);
  });

  it('exits 1 with TIMED_OUT past the deadline', async () => {
    await cli().node('slow', { body: 'for (;;);', id: 'slow', manifest: { resources: { timeout: '1s' } } });
    const result = await cli().run(['node', 'run', 'slow', '--trial', '--json']);
    expect({ exit: result.code, state: documentOf(result).state }).toEqual({ exit: 1, state: 'TIMED_OUT' });
  });

  it('keeps what a NodeError says of itself', async () => {
    const document = await runJson('throw', { code: 'RATE_LIMIT', message: 'later' });
    expect(document.error).toMatchObject({
      code: 'RATE_LIMIT',
      message: 'later',
      retryable: true,
      retryAfterMs: 3000,
      details: { seen: 1 },
    });
    const text = await cli().run(inWay('crash'));
    expect(text.stdout).toBe('');
    expect(text.stderr).toMatch(/NODE_FAILED: .*not foreseen/);
    expect(text.stderr).toMatch(/at .*src\/index\.ts:\d+:\d+/);
  });
});

describe('glovebox run list', () => {
  it('lists the newest first, filters, and pages without gap or repetition', async () => {
    const { run } = cli();
    const list = async (...args: string[]) =>
      (await run(['run', 'list', '--json', ...args])).json().runs as {
        id: string;
        node: { id: string };
        state: string;
        errorCode: string | null;
        createdAtMs: number;
        durationMs: number | null;
      }[];
    const all = await list('--limit', '1000');
    expect(all.length).toBeGreaterThan(15);
    expect(Object.keys(all[0] as object).sort()).toEqual([
      'createdAtMs',
      'durationMs',
      'errorCode',
      'id',
      'node',
      'state',
    ]);
    expect(all.map(({ createdAtMs }) => createdAtMs)).toEqual(
      all.map(({ createdAtMs }) => createdAtMs).sort((a, b) => b - a),
    );
    const paged: string[] = [];
    for (let before: string[] = []; ; ) {
      const page = await list('-n', '4', ...before);
      paged.push(...page.map(({ id }) => id));
      const last = page.at(-1);
      if (page.length < 4 || last === undefined) break;
      before = ['--before', last.id];
    }
    expect(paged).toEqual(all.map(({ id }) => id));
    expect(await list('--node', 'slow')).toEqual(all.filter(({ node }) => node.id === 'slow'));
    expect(await list('--node', 'no-such-node')).toEqual([]);
    expect(await list('--state', 'failed', '--limit', '1000')).toEqual(all.filter(({ state }) => state === 'FAILED'));
    expect((await list('--state', 'OUT_OF_MEMORY')).length).toBe(1);
    expect((await list()).length).toBe(Math.min(20, all.length));
    const text = await run(['run', 'list', '--limit', '3']);
    expect(text.stdout.split('\n')[0]).toMatch(/^run +node +state +error +created \(UTC\) +duration$/);
    expect(text.stdout.trimEnd().split('\n')).toHaveLength(4);
  });

  it.each([
    ['--limit', '0'],
    ['--limit', '1001'],
    ['--limit', 'all'],
    ['--limit', '1.5'],
    ['--limit', ''],
    ['--before', 'run_x'],
    ['--before', '../../etc'],
    ['--state', 'GONE'],
    ['--node', 'No Id'],
    ['--project', 'Not A Name'],
  ])('refuses %s %s', async (option, value) => {
    const { code, json } = await cli().run(['run', 'list', `${option}=${value}`, '--json']);
    expect({ code, error: json().error?.code }).toEqual({ code: 2, error: 'USAGE' });
    expect(json().error?.message).toContain(option);
  });
});

describe.concurrent('glovebox run show', () => {
  it('prints exactly the documented keys', async () => {
    const { run, attempt, state, output, error } = await runJson('files', 10);
    const shown = await cli().run(['run', 'show', run, '--json']);
    expect({ code: shown.code, stderr: shown.stderr }).toEqual({ code: 0, stderr: '' });
    expect(Object.keys(shown.json())).toEqual([
      'run',
      'attempt',
      'state',
      'input',
      'config',
      'output',
      'error',
      'digest',
      'receiptDigest',
      'phasesMs',
      'peaks',
      'files',
      'logs',
    ]);
    expect(shown.json()).toMatchObject({
      run,
      attempt,
      state,
      output,
      error,
      input: { do: 'files', value: 10 },
      config: {},
      files: [
        { name: 'data.json', mediaType: 'application/json', digest, sizeBytes: 7 },
        { name: 'raw.bin', mediaType: 'application/octet-stream', digest, sizeBytes: 10 },
      ],
      logs: [],
    });
    const { phasesMs, peaks } = shown.json() as { phasesMs: object; peaks: object };
    expect(Object.keys(phasesMs)).toEqual(['queue', 'boot', 'load', 'run', 'teardown']);
    expect(Object.keys(peaks)).toEqual(['memoryBytes', 'pids', 'outputBytes']);
  });

  it('adds the whole record where it is asked for', async () => {
    const { run, attempt } = await runJson('echo', 1);
    const { record } = (await cli().run(['run', 'show', run, '--json', '--record'])).json();
    expect(record).toMatchObject({
      project: 'default',
      node: { id: 'many-ways', version: '1.0.0' },
      actor: `local:uid=${process.getuid?.()}`,
      attempts: [{ id: attempt, number: 1, state: 'SUCCEEDED' }],
    });
    expect((record as { journal: object[] }).journal).toMatchObject([
      { from: null, to: 'QUEUED' },
      { from: 'QUEUED', to: 'RUNNING' },
      { from: 'RUNNING', to: 'SUCCEEDED' },
    ]);
  });

  it('draws the phases as a waterfall: each bar begins where the one above it ends', async () => {
    const { run } = await runJson('wait', 800);
    const { stdout } = await cli().run(['run', 'show', run]);
    const bars = stdout
      .split('\n')
      .filter((line) => /^ {2}(queue|boot|load|run|teardown) /.test(line))
      .map((line) => {
        const [, name, , before, bar] = /^ {2}(\w+) +([\d.]+ m?s) {2}( *)(█*)$/.exec(line) ?? [];
        return { name, from: before?.length ?? -1, to: (before?.length ?? 0) + (bar?.length ?? 0) };
      });
    expect(bars.map(({ name }) => name)).toEqual(['queue', 'boot', 'load', 'run', 'teardown']);
    for (const [i, bar] of bars.entries())
      if (i > 0) expect(Math.abs(bar.from - (bars[i - 1]?.to ?? 0))).toBeLessThanOrEqual(1);
    const widths = bars.map(({ from, to }) => to - from);
    expect(widths.every((width) => width >= 1)).toBe(true);
    for (const heading of ['phases', 'peaks', 'input', 'config', 'output', 'logs (2)'])
      expect(stdout).toContain(heading);
  });

  it('cuts long values and logs for people, and says where the rest is', async () => {
    const { run } = await runJson('lines', 80);
    const { stdout } = await cli().run(['run', 'show', run]);
    expect(stdout).toContain('logs (80)');
    expect(stdout).toContain('line 80');
    expect(stdout).not.toMatch(/line 1$/m);
    expect(stdout).toContain(`glovebox run logs ${run} has all`);
    const long = await runJson('echo', 'y'.repeat(5000));
    expect((await cli().run(['run', 'show', long.run])).stdout).toMatch(/characters more; --json has all/);
  });

  it('prints the receipt byte for byte', async () => {
    const { run } = await runJson('echo', 1);
    const { receiptDigest } = (await cli().run(['run', 'show', run, '--json'])).json();
    const { stdout } = await cli().run(['run', 'show', run, '--receipt']);
    expect(`sha256:${createHash('sha256').update(stdout).digest('hex')}`).toBe(receiptDigest);
  });

  it.each(['run_0000000000000000000000', 'run_x', '../x', ' ', 'att_0000000000000000000000'])(
    'refuses %j, which is no run',
    async (id) => {
      for (const command of [
        ['run', 'show'],
        ['run', 'logs'],
      ]) {
        const { code, json } = await cli().run([...command, id, '--json']);
        expect({ code, error: json().error?.code }).toEqual({ code: 2, error: 'NOT_FOUND' });
      }
    },
  );

  it('knows no project but default', async () => {
    const { run } = await runJson('echo', 1);
    const other = await cli().run(['run', 'show', run, '--project', 'other', '--json']);
    expect({ code: other.code, error: other.json().error?.code }).toEqual({ code: 2, error: 'NOT_FOUND' });
    expect((await cli().run(['run', 'show', run, '--project', 'default'])).code).toBe(0);
  });
});

describe.concurrent('glovebox run logs', () => {
  it('prints all, or the last lines', async () => {
    const { run } = await runJson('lines', 12);
    const lines = async (...args: string[]) =>
      (await cli().run(['run', 'logs', run, ...args])).stdout.split('\n').filter((line) => line !== '');
    expect(await lines()).toHaveLength(12);
    expect((await lines('--tail', '3')).map((line) => line.replace(/.*info +/, ''))).toEqual([
      'line 10',
      'line 11',
      'line 12',
    ]);
    expect(await lines('--tail', '100')).toHaveLength(12);
    expect(await lines('--tail', '0')).toEqual([]);
    expect(await lines('--follow', '--tail', '2')).toHaveLength(2);
    const { json } = await cli().run(['run', 'logs', run, '--json', '--tail', '2']);
    expect(json()).toMatchObject({ run, state: 'SUCCEEDED', logs: [{ seq: 11, message: 'line 11' }, { seq: 12 }] });
    const live = (await lines('--json=lines')).map((line) => JSON.parse(line) as { event: string });
    expect(live.map(({ event }) => event)).toEqual([...Array(12).fill('log'), 'result']);
    for (const tail of ['-1', 'x', '']) expect((await cli().run(['run', 'logs', run, `--tail=${tail}`])).code).toBe(2);
  });

  /** A run that goes on until it is told otherwise, and somebody who follows it. */
  const followed = async () => {
    const running = cli().start([...inWay('wait', 170_000), '--json=lines']);
    const [, id = ''] = await running.seen('stdout', /"event":"run","run":"(run_\w+)"/);
    await running.seen('stdout', /"message":"waiting"/);
    const follower = cli().start(['run', 'logs', id, '--follow']);
    await follower.seen('stdout', /waiting/);
    return { running, id, follower };
  };

  it('follows a run that goes on in another process, to its end', async () => {
    const { running, id, follower } = await followed();
    const listed = await cli().run(['run', 'list', '--state', 'running', '--json']);
    expect(listed.json().runs).toContainEqual(expect.objectContaining({ id, state: 'RUNNING', durationMs: null }));
    expect(follower.child.exitCode).toBeNull();
    running.child.kill('SIGINT');
    expect((await running.done).code).toBe(130);
    const { code, stdout } = await follower.done;
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.replace(/.*info +/, '')),
    ).toEqual(['waiting', 'told CANCELLED']);
  });

  it('stops following when it is interrupted, and leaves the run alone', async () => {
    const { running, id, follower } = await followed();
    follower.child.kill('SIGINT');
    expect((await follower.done).code).toBe(130);
    expect((await cli().run(['run', 'show', id, '--json'])).json().state).toBe('RUNNING');
    running.child.kill('SIGINT');
    expect((await running.done).code).toBe(130);
  });
});

describe.concurrent('glovebox run file', () => {
  it('writes a file that a run made, byte for byte, and never over another', async () => {
    const { dir, run } = cli();
    const bytes = 3_000_000;
    const { run: id } = await runJson('files', bytes);
    const out = join(dir, 'out.bin');
    const written = await run(['run', 'file', id, 'raw.bin', '--out', out, '--json']);
    expect(written.code).toBe(0);
    expect(written.json()).toMatchObject({ file: out, name: 'raw.bin', sizeBytes: bytes });
    expect({ size: statSync(out).size, mode: statSync(out).mode & 0o777 }).toEqual({ size: bytes, mode: 0o600 });
    expect(readFileSync(out).equals(Buffer.alloc(bytes))).toBe(true);
    const again = await run(['run', 'file', id, 'data.json', '--out', out, '--json']);
    expect({ code: again.code, error: again.json().error?.code }).toEqual({ code: 2, error: 'ALREADY_EXISTS' });
    expect(statSync(out).size).toBe(bytes);
    expect((await run(['run', 'file', id, 'data.json'])).stdout).toBe('{"a":1}');
    expect(readdirSync(dir).filter((name) => name.startsWith('.out.bin'))).toEqual([]);
  });

  it.each<[string, string[], string]>([
    ['a name that the run has not', ['no.txt'], 'NOT_FOUND'],
    ['a path', ['../../keys/signing.pem'], 'NOT_FOUND'],
    ['a directory that is not there', ['data.json', '--out', 'nowhere/out'], 'TARGET_UNUSABLE'],
    ['a directory', ['data.json', '--out', '.'], 'ALREADY_EXISTS'],
    ['a place where nothing can be made', ['data.json', '--out', '/proc/out'], 'TARGET_UNUSABLE'],
  ])('refuses %s', async (_, args, error) => {
    const { run } = await withFiles();
    const refused = await cli().run(['run', 'file', run, ...args, '--json']);
    expect({ code: refused.code, error: refused.json().error?.code }).toEqual({ code: 2, error });
  });

  it('says so when the stored file was changed, and writes none of it', async () => {
    const { dir, dataDir, run } = cli();
    const { run: id } = await runJson('files', 999);
    const { files } = (await run(['run', 'show', id, '--json'])).json() as unknown as RunDocument;
    const hex = files?.find(({ name }) => name === 'raw.bin')?.digest.slice('sha256:'.length) ?? '';
    writeFileSync(join(dataDir, 'blobs/sha256', hex.slice(0, 2), hex), Buffer.alloc(999, 1));
    const out = join(dir, 'damaged.bin');
    const damaged = await run(['run', 'file', id, 'raw.bin', '--out', out, '--json']);
    expect({ code: damaged.code, error: damaged.json().error?.code }).toEqual({ code: 1, error: 'BLOB_CORRUPTED' });
    expect(existsSync(out)).toBe(false);
    expect(readdirSync(dir).filter((name) => name.startsWith('.damaged'))).toEqual([]);
  });

  let made: Promise<RunDocument> | undefined;
  const withFiles = (): Promise<RunDocument> => {
    made ??= runJson('files', 1);
    return made;
  };
});

describe('several at once', () => {
  it('run on one data directory, from its first use on, each with a cell and a record of its own', async () => {
    const home = await makeCliHome();
    try {
      await home.node('many-ways', manyWays);
      const results = await Promise.all(
        [1, 2, 3, 4].map((value) => home.run([...inWay('wait', 300 + value), '--json'])),
      );
      expect(results.map(({ code, json }) => ({ code, output: json().output }))).toEqual(
        [1, 2, 3, 4].map((value) => ({ code: 0, output: { value: 300 + value } })),
      );
      const { runs } = (await home.run(['run', 'list', '--json'])).json() as { runs: { id: string; state: string }[] };
      expect(runs.map(({ id }) => id).sort()).toEqual(results.map(({ json }) => json().run).sort());
      const verified = await Promise.all(runs.map(({ id }) => home.run(['verify', id])));
      expect(verified.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      expect(home.residue()).toEqual([]);
      expect(home.leftovers()).toEqual([]);
    } finally {
      home.remove();
    }
  });
});

describe('a reader that goes away', () => {
  it('ends the command without a word about it', async () => {
    const { run } = await runJson('lines', 60);
    for (const args of [['run', 'logs', run], ['run', 'show', run], ['run', 'list'], ['help']]) {
      const reading = cli().start(args, { onStart: (child) => child.stdout?.destroy() });
      const { code, stderr } = await reading.done;
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
    }
  });

  it('cancels the run that was to be told to it, and leaves nothing', async () => {
    const running = cli().start([...inWay('wait', 170_000), '--json=lines']);
    const [, id = ''] = await running.seen('stdout', /"event":"run","run":"(run_\w+)"/);
    await running.seen('stdout', /"event":"step","step":"load"/);
    running.child.stdout?.destroy();
    const { stderr, code } = await running.done;
    expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
    expect((await cli().run(['run', 'show', id, '--json'])).json().state).toBe('CANCELLED');
    expect(cli().residue()).toEqual([]);
  });
});

it('makes a data directory on first use, private and complete', async () => {
  const dataDir = join(cli().dir, 'new', 'data');
  const { code, json } = await cli().run(['run', 'list', '--json', '--data-dir', dataDir]);
  expect({ code, runs: json().runs }).toEqual({ code: 0, runs: [] });
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  mkdirSync(join(cli().dir, 'empty'), { mode: 0o700 });
  expect((await cli().run(['run', 'list', '--data-dir', join(cli().dir, 'empty')])).stdout).toBe('No runs.\n');
});
