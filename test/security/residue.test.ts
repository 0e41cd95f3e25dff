import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { cellUmask } from '../support/test-driver.ts';
import { useEngine } from '../support/use-engine.ts';
import { withoutFlags } from '../support/without-flags.ts';

const cells = useEngine();
const open = useEngine(withoutFlags);

/** Leaves the canary wherever it can, or looks for it wherever it may be. */
const node = {
  top: `import fs from 'node:fs'; import os from 'node:os';
const directories = (dir, depth = 0, found = []) => {
  found.push(dir === '' ? '/' : dir);
  let names = []; try { names = fs.readdirSync(dir === '' ? '/' : dir); } catch { return found; }
  for (const name of names) {
    const path = dir + '/' + name;
    try { if (fs.lstatSync(path).isDirectory() && depth < 5 && !path.startsWith('/proc/')) directories(path, depth + 1, found); } catch {}
  }
  return found;
};
const known = ['/tmp', '/dev/shm', '/dev/mqueue', '/run', '/var/tmp', '/home', '/root', '/tmp/.npm', '/proc/self', os.homedir(), os.tmpdir()];`,
  body: `
  const canary = ctx.input.halves.join('');
  const places = [...new Set([...directories(''), ...known])];
  if (ctx.input.leave) {
    const left = [];
    const keep = (where, action) => { try { action(); left.push(where); } catch {} };
    for (const place of places) {
      keep(place, () => fs.writeFileSync(place + '/canary-' + canary, canary));
      keep(place + '/', () => fs.mkdirSync(place + '/dir-' + canary));
    }
    for (const path of ['/usr/bin/node', '/glovebox/harness.cjs', '/etc/hosts', '/etc/passwd']) keep(path, () => fs.appendFileSync(path, canary));
    keep('times', () => fs.utimesSync('/glovebox/harness.cjs', 1, 1));
    keep('environment', () => { process.env.CANARY = canary; });
    keep('title', () => { process.title = canary; });
    keep('global', () => { globalThis.canary = canary; Object.prototype.canary = canary; });
    keep('symbol', () => { Symbol.for(canary); });
    keep('link', () => fs.symlinkSync(canary, '/tmp/link'));
    keep('host name', () => fs.writeFileSync('/proc/sys/kernel/hostname', canary));
    keep('thread name', () => fs.writeFileSync('/proc/self/comm', canary.slice(0, 15)));
    keep('umask', () => process.umask(0o777));
    return left;
  }
  const found = [];
  const look = (where, text) => { if (String(text).includes(canary)) found.push(where); };
  for (const place of places) {
    let names = []; try { names = fs.readdirSync(place); } catch { continue; }
    look(place, names.join());
    for (const name of names) try { if (fs.statSync(place + '/' + name).isFile() && fs.statSync(place + '/' + name).size < 4e6 && !/^(mem|pagemap|clear_refs)$/.test(name)) look(place + '/' + name, fs.readFileSync(place + '/' + name, 'latin1')); } catch {}
  }
  look('environment', JSON.stringify(process.env)); look('title', process.title); look('global', globalThis.canary ?? ''); look('argv', process.argv.join());
  look('host name', os.hostname());
  return { found, inTmp: fs.readdirSync('/tmp'), umask: process.umask() };`,
  manifest: { resources: { timeout: '60s', memory: '256MiB' } },
};
const halves = (): [string, string] => [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')];

describe.each([
  ['with', cells, ['/tmp', '/tmp/']],
  ['without', open, ['/tmp', '/tmp/']],
] as const)('what one run leaves, %s the refusals of Node.js,', (_, engine, writable) => {
  it('is nowhere in the next of the same node, of another node, or of another engine', async () => {
    const mark = halves();
    const left = (await engine().run(node, { input: { leave: true, halves: mark } })).output as unknown as string[];
    // Where anything could be left at all: scratch, and what is in the process.
    expect(left.filter((where) => where.startsWith('/'))).toEqual(writable);
    expect(left).toEqual(expect.arrayContaining(['environment', 'title', 'global']));
    expect(left).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(times|link|host name)$/)]));
    const clean = { found: [], inTmp: [], umask: cellUmask() };
    expect((await engine().run(node, { input: { halves: mark } })).output).toEqual(clean);
    expect((await engine().run({ ...node, id: 'another-node' }, { input: { halves: mark } })).output).toEqual(clean);
    const another = engine === cells ? open : cells;
    expect((await another().run(node, { input: { halves: mark } })).output).toEqual(clean);
  });
});

describe('a run', () => {
  it('finds what it left itself: the hunt is no blind one', async () => {
    const mark = halves();
    const { output } = await cells().run(
      {
        ...node,
        body: `fs.writeFileSync('/tmp/' + ctx.input.halves.join(''), ctx.input.halves.join(''));\n${node.body}`,
      },
      { input: { halves: mark } },
    );
    const name = `/tmp/${mark.join('')}`;
    expect(output).toMatchObject({ found: ['/tmp', name] });
  });

  it('does not see one that runs beside it', async () => {
    const mark = halves();
    let started = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const holder = cells().run(
      {
        ...node,
        body: `${node.body.replace('return left;', 'ctx.log.info("left"); await ctx.clock.sleep(4000); return left;')}`,
        id: 'the-holder',
      },
      { input: { leave: true, halves: mark }, events: { onLog: () => started() } },
    );
    await running;
    const seen = await Promise.all([
      cells().run(node, { input: { halves: mark } }),
      open().run(node, { input: { halves: mark } }),
    ]);
    for (const { output } of seen) expect(output).toEqual({ found: [], inTmp: [], umask: cellUmask() });
    expect((await holder).output).toEqual(expect.arrayContaining(['/tmp', 'environment']));
  });
});
