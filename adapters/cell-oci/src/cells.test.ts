import { readFileSync, readlinkSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { judgeProbe, ownProfile, probeCalls, readProbeReport, watchHostNamespaces } from '@glovebox/cell';
import { parseOwnedName } from '@glovebox/cell/host';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { openCellBench, testImage } from '../../../test/support/cell-bench.ts';
import { readHierarchies } from './cgroup-hierarchies.ts';

const bench = openCellBench();
const clean = bench.residue();
afterEach(async () => {
  const left = bench.residue();
  await bench.settle();
  expect(left).toEqual(clean);
});
afterAll(() => bench.remove());

const hostNamespaces = Object.fromEntries(
  ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'].map((name) => [name, readlinkSync(`/proc/self/ns/${name}`)]),
);

/** Host pids of one cell's processes that run under its own uid. */
function processesOf(cell: string): { pid: number; status: string }[] {
  const { all } = readHierarchies();
  const pids = new Set<number>();
  for (const line of bench.residue().processes) pids.add(Number(line.split(' ')[0]));
  return [...pids]
    .filter((pid) => readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(cell))
    .map((pid) => ({ pid, status: readFileSync(`/proc/${pid}/status`, 'utf8') }))
    .filter(({ status }) => all.length > 0 && !/^Uid:\s+0\s/m.test(status));
}

describe.each(['crun', 'runc'] as const)('a cell under %s', (runtime) => {
  const driver = bench.open({ runtime });

  it('is from inside all that a cell must be, read in one probe boot', async () => {
    const plan = bench.plan({}, 'probe');
    const watch = watchHostNamespaces();
    const cell = await driver.boot(plan, newCellId());
    const chunks: Buffer[] = [];
    cell.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    cell.stderr.resume();
    const [end] = await Promise.all([cell.ended, finished(cell.stdout)]);
    const report = readProbeReport(Buffer.concat(chunks));
    const judged = judgeProbe({ ...report, plan, hostNamespaces: watch.end(), profile: ownProfile });

    expect(judged.filter(({ violations }) => violations.length > 0)).toEqual([]);
    expect(report.calls.outcomes).toHaveLength(probeCalls.length);
    // The last call goes by the 32-bit gate: the filter answers that with death, and so does a kernel that has no such gate.
    const signal: unknown = expect.stringMatching(/^SIG(SYS|SEGV)$/);
    expect(end).toMatchObject({ cause: 'self', exit: { code: null, signal } });
    expect(report.document.environment).toEqual({
      HOME: '/tmp',
      LANG: 'C.UTF-8',
      PATH: '/usr/bin',
      TMPDIR: '/tmp',
      TZ: 'UTC',
    });
    // Every property that the probe can see is also claimed.
    expect(cell.facts.properties).toEqual(expect.arrayContaining(judged.map(({ property }) => property)));
  });

  it('is from the host a process with no privilege, in cgroups that hold its limits', async () => {
    const cell = await bench.boot({}, driver);
    cell.run('say(process.pid)');
    expect(await cell.heard()).toBe(1);

    const [init, ...others] = processesOf(cell.id);
    expect(others).toEqual([]);
    const { pid, status } = init ?? { pid: 0, status: '' };
    const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1];
    const uids = field('Uid')?.split('\t') ?? [];
    expect(new Set(uids).size).toBe(1);
    expect(Number(uids[0])).toBeGreaterThanOrEqual(0x7000_0000);
    expect(field('Groups')?.trim()).toBe('');
    expect(['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map(field)).toEqual(Array(5).fill('0000000000000000'));
    expect([field('NoNewPrivs'), field('Seccomp'), field('Seccomp_filters')]).toEqual(['1', '2', '1']);
    expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim()).toBe('500');
    for (const [name, link] of Object.entries(hostNamespaces))
      expect(readlinkSync(`/proc/${pid}/ns/${name}`)).not.toBe(link);
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0]).toBe('/usr/bin/node');

    const cgroups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    const { of } = readHierarchies();
    const limit = (controller: string, file: string): string => {
      const hierarchy = of(controller);
      const ofHierarchy =
        hierarchy?.version === 2 ? /^0::(.*)$/m : new RegExp(`^\\d+:(?:.*,)?${controller}(?:,.*)?:(.*)$`, 'm');
      const path = ofHierarchy.exec(cgroups)?.[1] ?? '';
      const own = runtime === 'crun' ? path : path.replace(/\/runtime$/, '');
      return readFileSync(`${hierarchy?.mountPoint}${own}/${file}`, 'utf8').trim();
    };
    const memory = String(bench.plan().limits.memoryBytes);
    if (of('memory')?.version === 2) {
      expect([limit('memory', 'memory.max'), limit('memory', 'memory.swap.max')]).toEqual([memory, '0']);
    } else {
      expect(limit('memory', 'memory.limit_in_bytes')).toBe(memory);
      expect(limit('memory', 'memory.memsw.limit_in_bytes')).toBe(memory);
    }
    const quota = (): string =>
      of('cpu')?.version === 2 ? (limit('cpu', 'cpu.max').split(' ')[0] ?? '') : limit('cpu', 'cpu.cfs_quota_us');
    expect(limit('pids', 'pids.max')).toBe(String(bench.plan().limits.pids + (runtime === 'crun' ? 1 : 0)));
    expect(quota()).toBe('200000');
    await cell.dispatch({ cpu: 0.5, deadlineMs: 30_000 });
    expect(quota()).toBe('50000');
    if (runtime === 'crun' && of('devices')?.version === 1) {
      expect(limit('devices', 'devices.list').split('\n').sort()).toEqual([
        'c 1:3 rw',
        'c 1:5 rw',
        'c 1:7 rw',
        'c 1:8 rw',
        'c 1:9 rw',
      ]);
    }
    cell.kill('done');
    expect(await cell.ended).toMatchObject({ cause: 'done', exit: { code: null, signal: 'SIGKILL' } });
  });

  it('hands bytes over both ways and ends by itself', async () => {
    const cell = await bench.boot({}, driver);
    cell.run('process.stdout.write("out\\n"); process.stderr.write("err\\n"); say({ echo: [1, 2] })');
    expect(await cell.heard()).toEqual({ echo: [1, 2] });
    cell.run('process.exit(7)');
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 7, signal: null }, pidsLimitHit: false });
    await finished(cell.stdout);
    expect(cell.output()).toContain('out\n');
    expect(cell.output()).toContain('err\n');
  });
});

it('gives two live cells four host ids, and names everything after cell and owner', async () => {
  const cells = await Promise.all([bench.boot(), bench.boot()]);
  const claims = bench.residue().claims.map((line) => line.split(' '));
  expect(claims).toHaveLength(2);
  expect(new Set(claims.map(([slot]) => slot)).size).toBe(2);
  for (const [, target] of claims) {
    expect(parseOwnedName(target ?? '')).toMatchObject({ owner: { instance: bench.instance, pid: process.pid } });
  }
  for (const cell of cells) cell.kill('done');
  await Promise.all(cells.map((cell) => cell.ended));
});

it('boots twenty cells at once, each with a uid of its own', async () => {
  const cells = await Promise.all(Array.from({ length: 20 }, () => bench.boot({ memoryBytes: 96 * 1024 * 1024 })));
  for (const cell of cells) cell.run('say(1)');
  expect(await Promise.all(cells.map((cell) => cell.heard()))).toEqual(Array(20).fill(1));
  const uids = cells.flatMap((cell) => processesOf(cell.id).map(({ status }) => /^Uid:\s+(\d+)/m.exec(status)?.[1]));
  expect(new Set(uids).size).toBe(20);
  for (const cell of cells) cell.kill('done');
  expect((await Promise.all(cells.map((cell) => cell.ended))).every(({ error }) => error === undefined)).toBe(true);
});

it('finds a host usable by a live probe, and says what it did not look at without one', async () => {
  const report = await bench.driver.inspect(testImage);
  expect(report.facts.filter(({ required, state }) => required && state !== 'in-force')).toEqual([]);
  expect(report.usable).toBe(true);
  const blind = await bench.driver.inspect();
  expect(blind.facts.find(({ name }) => name === 'seccomp')?.state).toBe('unknown');
});

it('does not find a host usable on a processor for which there is no probe, and says so', async () => {
  vi.spyOn(process, 'arch', 'get').mockReturnValue('arm64');
  try {
    const report = await bench.driver.inspect(testImage);
    expect(report.usable).toBe(false);
    expect(report.facts.find(({ name }) => name === 'seccomp')?.state).toBe('unknown');
    expect(report.facts.find(({ name }) => name === 'probe-cell')).toMatchObject({
      state: 'missing',
      required: true,
      detail: expect.stringContaining('arm64'),
      hint: expect.stringContaining('x64'),
    });
  } finally {
    vi.restoreAllMocks();
  }
});

describe('a cell that a test weakened', () => {
  it('says so in its facts and no longer claims what was taken away', async () => {
    const driver = bench.open({ weakenForTest: (spec) => ({ ...spec, root: { ...spec.root, readonly: false } }) });
    const cell = await bench.boot({}, driver);
    expect(cell.facts.properties).toContain('weakened-for-test');
    expect(cell.facts.properties).not.toContain('root-read-only');
    cell.kill('done');
    await cell.ended;
  });

  it('says so when it alone has no deadline, which it does not claim either', async () => {
    const cell = await bench.boot({}, bench.open({ ignoreDeadlineForTest: true }));
    expect(cell.facts.properties).toContain('weakened-for-test');
    expect(cell.facts.properties).not.toContain('deadline');
    cell.kill('done');
    await cell.ended;
    const whole = await bench.boot();
    expect(whole.facts.properties).toContain('deadline');
    whole.kill('done');
    await whole.ended;
  });

  it('says so when its specification is changed to the same', async () => {
    const cell = await bench.boot({}, bench.open({ weakenForTest: (spec) => spec }));
    expect(cell.facts.properties).toContain('weakened-for-test');
    cell.kill('done');
    await cell.ended;
  });

  it('is found out by the probe', async () => {
    const driver = bench.open({
      weakenForTest: (spec) => ({
        ...spec,
        linux: { ...spec.linux, namespaces: spec.linux.namespaces.filter(({ type }) => type !== 'network') },
      }),
    });
    const report = await driver.inspect(testImage);
    expect(report.usable).toBe(false);
    expect(report.facts.find(({ name }) => name === 'namespace-network')?.state).toBe('missing');
  });

  it('is no cell of a driver that nobody weakened', async () => {
    const cell = await bench.boot();
    expect(cell.facts.properties).not.toContain('weakened-for-test');
    cell.kill('done');
    await cell.ended;
  });
});
