import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAtNthWrite } from '../../../test/support/kill-at-nth-write.ts';
import { openOwnership } from './ownership.ts';
import { stagedName } from './staging.ts';

let run: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  run = join(mkdtempSync(join(tmpdir(), 'glovebox-owner-')), 'run');
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(join(run, '..'), { recursive: true, force: true });
});

/** A process that claims when it is told to. */
function startOther() {
  const program = new URL('../test/children/owner.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, run], { stdio: ['pipe', 'pipe', 'inherit'], env: {} });
  children.push(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async claim(): Promise<boolean> {
      child.stdin.write('\n');
      return (await lines.next()).value === 'true';
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    async end(): Promise<void> {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

const names = (): string[] => readdirSync(join(run, 'owner'));
/** The mark of this process but for these parts: boot, pid namespace, pid, start time. */
const marked = (changed: { [part in 0 | 1 | 2 | 3]?: string }): string =>
  Object.assign(stagedName().split('.'), changed).join('.');
const deadName = (): string => marked({ 2: '4194303' });
/** As if another process had claimed under that name. */
const plant = (...planted: string[]): void => {
  for (const name of planted) mkdirSync(join(run, 'owner', name), { recursive: true });
};

describe('the owner of a data directory', () => {
  it('is whoever claims first, again and again, until it releases; then nothing is left', () => {
    const [first, second] = [openOwnership(run), openOwnership(run)];
    expect([first.claim(), second.claim(), first.claim(), second.claim()]).toEqual([true, false, true, false]);
    expect(statSync(run).mode & 0o777).toBe(0o700);
    second.release();
    expect(second.claim()).toBe(false);
    first.release();
    expect(readdirSync(run)).toEqual([]);
    expect(second.claim()).toBe(true);
    expect(first.claim()).toBe(false);
  });

  it('is one of two processes that claim at once, and the other after the first has ended', async () => {
    const others = [startOther(), startOther()] as const;
    const claimed = await Promise.all(others.map((other) => other.claim()));
    expect(claimed.toSorted()).toEqual([false, true]);
    const [owner, waiting] = claimed[0] ? others : others.toReversed();
    expect(await waiting?.claim()).toBe(false);
    await owner?.end();
    expect(await waiting?.claim()).toBe(true);
    await waiting?.end();
    expect(readdirSync(run)).toEqual([]);
  });

  it('is at no moment two of many that claim and release', async () => {
    const others = Array.from({ length: 4 }, startOther);
    for (let round = 0; round < 5; round++) {
      const claimed = await Promise.all(others.map((other) => other.claim()));
      expect(claimed.filter(Boolean)).toHaveLength(1);
      const owner = claimed.indexOf(true);
      await (round % 2 === 0 ? others[owner]?.kill() : others[owner]?.end());
      others[owner] = startOther();
    }
  });

  it('is taken over from a process that was killed', async () => {
    const other = startOther();
    expect(await other.claim()).toBe(true);
    const ours = openOwnership(run);
    expect(ours.claim()).toBe(false);
    await other.kill();
    expect(ours.claim()).toBe(true);
    expect(names()).toHaveLength(1);
  });

  it.each([
    ['its pid was given to a process that started later', { 3: '1' }],
    ['it is of another boot', { 0: '00000000-0000-4000-8000-000000000000' }],
    ['it has no process any more', { 2: '4194303' }],
  ])('is taken over from when %s', (_, changed) => {
    plant(marked(changed));
    expect(openOwnership(run).claim()).toBe(true);
  });

  it('keeps its place, also in another pid namespace, whatever its pid is here', () => {
    const [alive, elsewhere] = [stagedName(), marked({ 1: '1', 2: '4194303' })];
    for (const name of [alive, elsewhere]) {
      plant(name);
      expect(openOwnership(run).claim()).toBe(false);
      expect(names()).toEqual([name]);
      rmSync(join(run, 'owner'), { recursive: true });
    }
    expect(openOwnership(run).claim()).toBe(true);
  });
});

describe('a claim that nobody here can judge', () => {
  it('is named, so that whoever knows that its process is gone can remove it', () => {
    const ours = openOwnership(run);
    const place = join(run, 'owner');
    for (const plantIt of [() => plant(marked({ 1: '1' })), () => plant('somebody'), () => writeFileSync(place, '')]) {
      mkdirSync(run, { recursive: true });
      plantIt();
      expect(ours.claim()).toBe(false);
      expect(ours.unjudged()).toBe(place);
      rmSync(place, { recursive: true });
      expect(ours.unjudged()).toBeUndefined();
      expect(ours.claim()).toBe(true);
      ours.release();
    }
  });

  it('is not one whose process lives, or is known to be dead, nor that of no one', async () => {
    expect(openOwnership(run).unjudged()).toBeUndefined();
    const other = startOther();
    expect(await other.claim()).toBe(true);
    expect(openOwnership(run).unjudged()).toBeUndefined();
    await other.kill();
    expect(openOwnership(run).unjudged()).toBeUndefined();
  });
});

describe('a claim that cannot be read', () => {
  it.each([
    ['a name of another form', () => plant('somebody')],
    ['a dead name beside one that cannot be judged', () => plant(deadName(), 'somebody')],
    [
      'a file in its place',
      () => {
        mkdirSync(run);
        writeFileSync(join(run, 'owner'), '');
      },
    ],
    [
      'a link in its place',
      () => {
        mkdirSync(join(run, 'elsewhere'), { recursive: true });
        symlinkSync('elsewhere', join(run, 'owner'));
      },
    ],
    [
      'a dead name that holds something',
      () => {
        plant(deadName());
        writeFileSync(join(run, 'owner', names()[0] as string, 'x'), '');
      },
    ],
  ])('is not ours: %s', (_, make) => {
    make();
    const before = readdirSync(run, { recursive: true, encoding: 'utf8' }).sort();
    expect(openOwnership(run).claim()).toBe(false);
    expect(readdirSync(run, { recursive: true, encoding: 'utf8' }).sort()).toEqual(before);
  });

  it('is one that is empty no more: what a release left between its two steps is free', () => {
    mkdirSync(join(run, 'owner'), { recursive: true });
    expect(openOwnership(run).claim()).toBe(true);
  });

  it('is not made where the directory cannot be written, and nothing is thrown', () => {
    writeFileSync(join(run, '..', 'file'), '');
    expect(openOwnership(join(run, '..', 'file', 'run')).claim()).toBe(false);
  });
});

describe('a process that is killed before any change that a claim or a release makes', () => {
  it('leaves a place that the next one has at once, and of which nothing stays', () => {
    const program = `
      import { openOwnership } from ${JSON.stringify(new URL('./ownership.ts', import.meta.url).href)};
      const ownership = openOwnership(process.argv[1]);
      process.stdout.write(String(ownership.claim()));
      ownership.release();`;
    let [killed, owners] = [0, 0];
    for (let n = 1; ; n++) {
      const flags = [...killAtNthWrite(n), '--input-type=module', '-e', program, run];
      const { signal, stdout } = spawnSync(process.execPath, flags, { env: {}, encoding: 'utf8' });
      const next = openOwnership(run);
      expect({ n, claimed: next.claim() }).toEqual({ n, claimed: true });
      next.release();
      expect({ n, left: readdirSync(run) }).toEqual({ n, left: [] });
      if (stdout === 'true') owners++;
      if (signal !== 'SIGKILL') break;
      killed++;
    }
    // Not vacuous: before and after the claim stood.
    expect({ killed: killed >= 5, owners: owners >= 2 }).toEqual({ killed: true, owners: true });
  });
});

describe('a claim that was killed half-made', () => {
  it('is removed by the next, and that of a living process stays', () => {
    mkdirSync(run);
    const [dead, alive] = [deadName(), stagedName()];
    for (const name of [dead, alive]) mkdirSync(join(run, `.owner.${name}`, name), { recursive: true });
    const ours = openOwnership(run);
    expect(ours.claim()).toBe(true);
    ours.release();
    expect(readdirSync(run)).toEqual([`.owner.${alive}`]);
  });

  it('takes nobody with it: what came into the place meanwhile is not released', () => {
    const ours = openOwnership(run);
    expect(ours.claim()).toBe(true);
    renameSync(join(run, 'owner'), join(run, 'old'));
    plant(stagedName());
    const other = names();
    ours.release();
    expect(names()).toEqual(other);
  });
});
