import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { type Cell, type CellDriver, judgeProbe, ownProfile, readProbeReport } from '@glovebox/cell';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BenchCell, eventually } from '../../../test/support/cell-bench.ts';
import type { TestCelld } from '../../../test/support/celld.ts';
import { openCelldBench } from '../../../test/support/celld-bench.ts';
import type { Residue } from '../../../test/support/residue.ts';

const bench = openCelldBench();
const MiB = 1024 * 1024;
let celld: TestCelld;
let driver: CellDriver;
let clean: Residue;
beforeAll(async () => {
  celld = await bench.start();
  driver = bench.driver(celld);
  clean = bench.residue();
});
afterEach(async () => {
  await bench.cells.settle();
  expect(bench.residue()).toEqual(clean);
});
afterAll(() => bench.remove());

const boot = (limits = {}): Promise<BenchCell> => bench.cells.boot(limits, driver);

/** The plan of another role, and all that it writes to its standard output. */
async function outputOf(role: 'probe' | 'run', by: CellDriver): Promise<{ cell: Cell; output: Buffer }> {
  const cell = await by.boot(bench.cells.plan({}, role), newCellId());
  const chunks: Buffer[] = [];
  cell.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  cell.stderr.resume();
  await Promise.all([cell.ended, finished(cell.stdout)]);
  return { cell, output: Buffer.concat(chunks) };
}

describe('a cell that celld makes', () => {
  it('is what the same driver makes in this process, by its facts and by its own look at itself', async () => {
    const [here, there] = [await outputOf('probe', bench.cells.driver), await outputOf('probe', driver)];
    expect(there.cell.facts).toEqual(here.cell.facts);
    expect(there.cell.facts.driver).toBe('oci');
    const report = readProbeReport(there.output);
    const plan = bench.cells.plan({}, 'probe');
    const judged = judgeProbe({ ...report, plan, hostNamespaces: { held: {} }, profile: ownProfile });
    expect(judged.length).toBeGreaterThan(10);
    expect(
      judged.filter(({ violations, property }) => violations.length > 0 && !property.startsWith('namespace-')),
    ).toEqual([]);
  });

  it.each([
    ['by itself, with its own code', 'process.reallyExit(7)', {}, { cause: 'self', exit: { code: 7, signal: null } }],
    ['by its memory limit', 'const all = []; for (;;) all.push(Buffer.alloc(1e7, 1));', {}, { cause: 'oom' }],
    [
      'at its lifetime',
      'for (;;) ;',
      { lifetimeMs: 1000 },
      { cause: 'lifetime', exit: { code: null, signal: 'SIGKILL' } },
    ],
  ])('ends %s, told as in this process', async (_how, code, limits, expected) => {
    const ends = [];
    for (const by of [bench.cells.driver, driver]) {
      const cell = await bench.cells.boot(limits, by);
      cell.run(code);
      ends.push(await cell.ended);
    }
    const [here, there] = ends;
    expect(there).toMatchObject(expected);
    expect({ ...there, peakMemoryBytes: 0, peakPids: 0, teardownMs: 0 }).toEqual({
      ...here,
      peakMemoryBytes: 0,
      peakPids: 0,
      teardownMs: 0,
    });
  });

  it('is killed at its deadline by the clock of celld, and dispatched once', async () => {
    const cell = await boot();
    await cell.dispatch({ cpu: 0.5, deadlineMs: 300 });
    await expect(cell.dispatch({ cpu: 0.5, deadlineMs: 30_000 })).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(await cell.ended).toMatchObject({ cause: 'deadline' });
  });

  it('is refused more than its plan by a dispatch, and lives on', async () => {
    const cell = await boot();
    await expect(cell.dispatch({ cpu: 4, deadlineMs: 1000 })).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
    cell.run('say("alive")');
    expect(await cell.heard()).toBe('alive');
    cell.kill('cancelled');
    cell.kill('done');
    expect(await cell.ended).toMatchObject({ cause: 'cancelled' });
    // As with any driver: a cell that has ended has no use for limits, and this is no error.
    const other = await boot();
    other.kill('done');
    await other.ended;
    await other.dispatch({ cpu: 0.5, deadlineMs: 1000 });
  });

  it('passes megabytes both ways on the channel, and on both outputs, unchanged', async () => {
    const cell = await driver.boot(bench.cells.plan(), newCellId());
    const size = 3 * MiB;
    const sent = Buffer.alloc(size, 'abcdefghijk');
    const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    const gather = async (stream: NodeJS.ReadableStream): Promise<Buffer> => {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    };
    cell.channel.write(
      `const fs = require('node:fs'); const bytes = Buffer.alloc(${size}); say('go');` +
        `for (let at = 0; at < ${size}; ) at += fs.readSync(3, bytes, at, ${size} - at);` +
        'const all = (fd, data) => { for (let at = 0; at < data.length; ) at += fs.writeSync(fd, data, at); };' +
        `all(1, bytes); all(2, bytes.subarray(0, ${MiB})); all(3, bytes); process.reallyExit(0);\0`,
    );
    await once(cell.channel, 'data');
    const gathered = Promise.all([cell.channel, cell.stdout, cell.stderr].map(gather));
    cell.channel.write(sent);
    const [channel, stdout, stderr] = await gathered;
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 0, signal: null } });
    expect(digest(channel as Buffer)).toBe(digest(sent));
    expect(digest(stdout as Buffer)).toBe(digest(sent));
    expect(stderr).toHaveLength(MiB);
  });

  it('has a standard input in the role of a bundler, and sees its end', async () => {
    // The bench's image has no builder: the process ends with an error, and its streams are there all the same.
    const cell = await driver.boot(bench.cells.plan({}, 'bundle'), newCellId());
    expect(cell.stdin).not.toBeNull();
    const closed = once(cell.stdin as NodeJS.WritableStream, 'close');
    cell.stdin?.write('text');
    cell.stdout.resume();
    cell.stderr.resume();
    expect(await cell.ended).toMatchObject({ cause: 'self' });
    await closed;
    const other = await boot();
    expect(other.stdin).toBeNull();
    other.kill('done');
    await other.ended;
  });

  it('hears the end of its channel, and is heard after it', async () => {
    const cell = await boot();
    cell.run("const n = require('node:fs').readSync(3, Buffer.alloc(1)); say(n); process.reallyExit(0)");
    cell.channel.end();
    expect(await cell.heard()).toBe(0);
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 0 } });
  });
});

describe('a client that stops reading one stream', () => {
  it('holds up neither the channel of that cell nor another cell, and gets all of it when it reads on', async () => {
    const size = 8 * MiB;
    const cell = await driver.boot(bench.cells.plan(), newCellId());
    const heard: string[] = [];
    cell.channel.on('data', (chunk: Buffer) => heard.push(...chunk.toString().trim().split('\n')));
    cell.stderr.resume();
    cell.channel.write(
      `process.stdout._handle.setBlocking(false); process.stdout.write('x'.repeat(${size})); say('written')\0`,
    );
    expect(await eventually(() => heard.length === 1)).toBe(true);
    for (let i = 1; i <= 5; i++) {
      cell.channel.write('say(process.stdout.writableLength)\0');
      expect(await eventually(() => heard.length === i + 1)).toBe(true);
    }
    // What is not read waits in the cell: the buffers on the way are small.
    expect(Number(heard.at(-1))).toBeGreaterThan(size - 3 * MiB);
    const neighbour = await boot();
    neighbour.run('say("well")');
    expect(await neighbour.heard()).toBe('well');
    neighbour.kill('done');

    let bytes = 0;
    cell.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    cell.channel.write('leave()\0');
    expect(await eventually(() => bytes === size)).toBe(true);
    cell.kill('done');
    await Promise.all([cell.ended, neighbour.ended]);
  });

  it('closes the pipe of the cell by closing the stream', async () => {
    const cell = await driver.boot(bench.cells.plan(), newCellId());
    cell.stdout.destroy();
    cell.stderr.resume();
    let heard = '';
    cell.channel.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
    });
    cell.channel.write(
      "const write = () => { try { require('node:fs').writeSync(1, 'x'); return 'ok'; } catch (e) { return e.code; } };" +
        "const until = Date.now() + 10_000; let got; do { got = write(); } while (got === 'ok' && Date.now() < until); say(got)\0",
    );
    expect(await eventually(() => heard !== '')).toBe(true);
    expect(JSON.parse(heard)).toBe('EPIPE');
    cell.kill('done');
    await cell.ended;
  });
});

describe('twenty cells at once', () => {
  it('are each themselves, have a host uid each, and leave nothing', async () => {
    const cells = await Promise.all(Array.from({ length: 20 }, () => boot()));
    for (const [index, cell] of cells.entries()) cell.run(`say(${index})`);
    expect(await Promise.all(cells.map((cell) => cell.heard()))).toEqual(cells.map((_, index) => index));
    const { claims } = bench.residue();
    expect(new Set(claims.map((line) => line.split(' ')[0])).size).toBe(20);
    for (const cell of cells) cell.kill('done');
    for (const end of await Promise.all(cells.map(({ ended }) => ended))) expect(end).toMatchObject({ cause: 'done' });
  });
});

describe('the host', () => {
  it('is reported as the driver of celld finds it, with celld first', async () => {
    const report = await driver.inspect(bench.cells.plan().image);
    expect(report).toMatchObject({ driver: 'oci', class: 'ns', usable: true });
    expect(report.facts[0]).toMatchObject({ name: 'celld', state: 'in-force' });
    expect(report.facts.map(({ name }) => name)).toContain('seccomp');
    // Others may ask at the same time.
    const both = await Promise.all([driver.inspect(bench.cells.plan().image), driver.inspect()]);
    expect(both.map(({ usable }) => usable)).toEqual([true, true]);
    const foreign = await driver.inspect(`sha256:${'f'.repeat(64)}`);
    expect(foreign).toMatchObject({ usable: false, facts: [{ name: 'celld', state: 'missing' }] });
  });

  it('is reported as of no use where celld does not answer, and booting says why', async () => {
    const { createCelldDriver } = await import('@glovebox/cell-celld');
    const absent = createCelldDriver({ socketPath: `${bench.home}/socket/absent` });
    expect(await absent.inspect()).toMatchObject({
      usable: false,
      facts: [{ name: 'celld', state: 'missing', required: true }],
    });
    await expect(absent.boot(bench.cells.plan(), newCellId())).rejects.toMatchObject({ code: 'CELLD_UNREACHABLE' });
    await expect(absent.sweep()).rejects.toMatchObject({ code: 'CELLD_UNREACHABLE' });
  });

  it('is counted and swept through celld', async () => {
    const cell = await boot();
    cell.run('say(1)');
    await cell.heard();
    expect(await driver.gauges()).toMatchObject({ cells: 1, uidClaims: 1, directories: 1 });
    expect((await driver.sweep()).removed).toMatchObject({ cells: 0, processes: 0 });
    cell.run('say(2)');
    expect(await cell.heard()).toBe(2);
    cell.kill('done');
    await cell.ended;
    expect(await driver.gauges()).toMatchObject({ cells: 0, processes: 0, uidClaims: 0, directories: 0 });
  });
});

describe('ceilings over all cells', () => {
  it('refuse one cell too many and one with too much memory, and let go what has ended', async () => {
    const small = await bench.start(['--max-cells', '2', '--max-memory', '300MiB'], { home: undefined as never });
    try {
      const there = bench.driver(small);
      const first = await bench.cells.boot({}, there);
      const plan = bench.cells.plan({ memoryBytes: 256 * MiB });
      await expect(there.boot(plan, newCellId())).rejects.toMatchObject({ code: 'CELLD_FULL' });
      const second = await bench.cells.boot({}, there);
      await expect(there.boot(bench.cells.plan(), newCellId())).rejects.toMatchObject({ code: 'CELLD_FULL' });
      first.kill('done');
      await first.ended;
      const third = await bench.cells.boot({}, there);
      for (const cell of [second, third]) cell.kill('done');
      await Promise.all([second.ended, third.ended]);
    } finally {
      await small.end('SIGTERM');
    }
  });
});

describe('at SIGTERM', () => {
  it('celld kills its cells, says so to their clients, takes its socket away and ends', async () => {
    const other = await bench.start([], { home: undefined as never });
    const there = bench.driver(other);
    const cell = await bench.cells.boot({}, there);
    const dead = once(cell.channel, 'close');
    expect(await other.end('SIGTERM')).toBe(0);
    expect(await cell.ended).toMatchObject({ cause: 'cancelled', exit: { signal: 'SIGKILL' } });
    await dead;
    await expect(there.boot(bench.cells.plan(), newCellId())).rejects.toMatchObject({ code: 'CELLD_UNREACHABLE' });
  });
});
