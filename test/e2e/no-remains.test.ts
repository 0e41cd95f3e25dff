import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forger } from '../support/forger.ts';
import type { NodeSource } from '../support/node-package.ts';
import { readResidue } from '../support/residue.ts';
import { useCli } from '../support/use-cli.ts';
import { leftovers, useEngine } from '../support/use-engine.ts';

const cells = useEngine();
const cli = useCli();

/** Temporary files of this process go here from now on. */
const temp = mkdtempSync(join(tmpdir(), 'glovebox-temp-'));
const before = process.env.TMPDIR;
beforeAll(() => {
  process.env.TMPDIR = temp;
});
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(temp, { recursive: true });
});

const marker = 'the-envelope-of-this-run';

/** Every way that a run can end, and those in which none begins. */
const outcomes: Record<string, { source: NodeSource; ends: string; cancel?: true; inputText?: string }> = {
  success: { source: { body: `await ctx.files.write('a', ctx.input.marker); return ctx.input` }, ends: 'SUCCEEDED' },
  error: { source: { body: `throw new Error('x')` }, ends: 'FAILED' },
  'a load that fails': { source: { body: '', top: `throw new Error('x');` }, ends: 'FAILED' },
  'an output that is none': { source: { body: 'return 1n' }, ends: 'FAILED' },
  'an output that is too large': { source: { body: `return 'x'.repeat(1 << 20)` }, ends: 'OUTPUT_TOO_LARGE' },
  'a file that is cut off': {
    source: { body: `await ctx.files.write('a', (function* () { for (;;) yield 'x'.repeat(65536); })())` },
    ends: 'FAILED',
  },
  deadline: { source: { body: 'for (;;) {}', manifest: { resources: { timeout: '1500ms' } } }, ends: 'TIMED_OUT' },
  'a deadline in the middle of a file': {
    source: {
      body: `await ctx.files.write('a', (async function* () { yield 'x'; for (;;) await ctx.clock.sleep(100000); })())`,
      manifest: { resources: { timeout: '1500ms' } },
    },
    ends: 'TIMED_OUT',
  },
  memory: {
    source: {
      body: 'const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1));',
      manifest: { resources: { memory: '64MiB' } },
    },
    ends: 'OUT_OF_MEMORY',
  },
  crash: { source: { body: 'process.abort()' }, ends: 'CRASHED' },
  'a broken channel': {
    source: { top: forger, body: `send(Buffer.from('x'.repeat(50))); for (;;) {}` },
    ends: 'CHANNEL_CORRUPTED',
  },
  cancel: { source: { body: `ctx.log.info('now'); await ctx.clock.sleep(60_000)` }, ends: 'CANCELLED', cancel: true },
  'an input that is refused': {
    source: { body: 'return 1', manifest: { input: { type: 'string' } } },
    ends: 'INPUT_INVALID',
  },
  'an input that is no JSON': { source: { body: 'return 1' }, ends: 'INPUT_NOT_JSON', inputText: '{' },
  'a bundle that fails': { source: { body: 'return (' }, ends: 'BUILD_FAILED' },
  'a package that is refused': {
    source: { body: 'return 1', files: { 'src/x.node': 'x' } },
    ends: 'PACKAGE_INVALID|BUILD_FAILED',
  },
};

describe('after', () => {
  it.each(Object.entries(outcomes))('%s no directory, file or cell of the run is left', async (_, outcome) => {
    const { engine, dataDir } = cells();
    const controller = new AbortController();
    const files = { capabilities: { files: { maxBytes: '1MiB' } } };
    const ended = await cells()
      .run(
        { ...outcome.source, manifest: { ...files, ...outcome.source.manifest } },
        {
          input: { marker },
          ...(outcome.inputText === undefined ? {} : { inputText: outcome.inputText }),
          signal: controller.signal,
          events: { onLog: () => outcome.cancel && controller.abort('as told') },
        },
      )
      .then(
        ({ state }) => state,
        (error: { code: string }) => error.code,
      );
    expect(ended).toMatch(new RegExp(`^(${outcome.ends})$`));
    expect(readdirSync(temp)).toEqual([]);
    expect(leftovers(dataDir)).toEqual([]);
    expect(readdirSync(join(dataDir, 'blobs', 'staging'))).toEqual([]);
    const { processes, cgroups, directories, claims } = readResidue({
      instance: engine.signer.instance,
      runDirectory: join(dataDir, 'run'),
    });
    expect({ processes, cgroups, directories, claims }).toEqual({
      processes: [],
      cgroups: [],
      directories: [],
      claims: [],
    });
  });

  it('them all the engine still runs, and keeps what the runs gave and nothing else', async () => {
    const { engine, dataDir } = cells();
    expect((await cells().run({ body: 'return 1' })).output).toBe(1);
    const states = (await engine.store.list({ project: 'default', limit: 100 })).map(({ state }) => state);
    expect(states.filter((state) => state === 'QUEUED' || state === 'RUNNING')).toEqual([]);
    const blobs = readdirSync(join(dataDir, 'blobs/sha256'), { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.length > 60,
    );
    expect(blobs.map((path) => readFileSync(join(dataDir, 'blobs/sha256', path), 'utf8'))).toEqual([marker]);
  });
});

describe('a host process that is killed in the middle of a run', () => {
  it('takes its cell with it, and the next command clears what is left and calls the run lost', async () => {
    const packageDir = await cli().node('killed', {
      id: 'killed',
      body: `
        ctx.log.info('begun');
        await ctx.files.write('a', (async function* () { yield 'x'.repeat(100_000); await ctx.clock.sleep(600_000); })());`,
      manifest: { capabilities: { files: { maxBytes: '1MiB' } }, resources: { timeout: '600s' } },
    });
    const running = cli().start([
      'node',
      'run',
      packageDir,
      '--trial',
      '--json=lines',
      '--input',
      JSON.stringify({ marker }),
    ]);
    await running.seen('stdout', /begun/);
    const pid = running.workerPid();
    if (pid === undefined) throw new Error('there is no worker');
    const cell = cli().residue();
    expect(cell.filter((line) => line.startsWith('processes:'))).not.toEqual([]);
    process.kill(pid, 'SIGKILL');
    await running.done.catch(() => undefined);
    // The kernel's doing, without anybody's sweep: the cell does not outlive who booted it.
    for (
      let n = 0;
      n < 100 &&
      cli()
        .residue()
        .some((line) => line.startsWith('processes:'));
      n++
    )
      await sleep(50);
    expect(
      cli()
        .residue()
        .filter((line) => line.startsWith('processes:')),
    ).toEqual([]);

    const listed = await cli().run(['run', 'list', '--json']);
    expect(listed.stdout).toContain('"LOST"');
    expect(listed.stdout).not.toContain('"RUNNING"');
    expect(cli().residue()).toEqual([]);
    expect(cli().leftovers()).toEqual([]);
    const next = await cli().run(['node', 'run', await cli().node('next', { body: 'return 1' }), '--trial', '--json']);
    expect(next.json()).toMatchObject({ state: 'SUCCEEDED', output: 1 });
  });
});
