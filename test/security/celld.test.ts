import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import type { CellDriver } from '@glovebox/cell';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/cell-bench.ts';
import type { TestCelld } from '../support/celld.ts';
import { openCelldBench } from '../support/celld-bench.ts';
import type { Residue } from '../support/residue.ts';

const bench = openCelldBench();
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
  // Refused or not, nothing of it is there: a cell whose connection is gone is killed at once.
  expect(await eventually(() => JSON.stringify(bench.residue()) === JSON.stringify(clean))).toBe(true);
});
afterAll(() => bench.remove());

const newKey = (): string => randomBytes(16).toString('hex');
const cellRequest = (plan: object = bench.cells.plan()) => ({
  celld: 1,
  open: 'cell',
  id: newCellId() as string,
  key: newKey(),
  plan,
});
const lineOf = (message: object): string => `${JSON.stringify(message)}\n`;

interface Conversation {
  /** Lines as far as they are JSON. */
  answers: Record<string, { code?: string; cause?: string }>[];
  say(bytes: string | Buffer): void;
  /** The next answer that has this member. */
  next(member: string): Promise<{ code?: string; cause?: string }>;
  closed: Promise<void>;
  /** Say no more, and hear on. */
  end(): void;
  close(): void;
}

/**
 * Speak to celld without the driver: any bytes, in any order. With `allowHalfOpen` its own side stays open until it is
 * closed here, whatever celld has ended.
 */
function converse(bytes?: string | Buffer, { allowHalfOpen = false } = {}): Conversation {
  const socket = connect({ path: celld.socketPath, allowHalfOpen });
  const answers: Conversation['answers'] = [];
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      answers.push(JSON.parse(text.slice(0, end)) as Conversation['answers'][number]);
      text = text.slice(end + 1);
    }
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  if (bytes !== undefined) socket.write(bytes);
  return {
    answers,
    say: (more) => void socket.write(more),
    async next(member) {
      expect(await eventually(() => answers.some((answer) => member in answer))).toBe(true);
      return answers.find((answer) => member in answer)?.[member] ?? {};
    },
    closed,
    end: () => void socket.end(),
    close: () => socket.destroy(),
  };
}

async function refusalOf(bytes: string | Buffer): Promise<string | undefined> {
  const { answers, closed } = converse(bytes);
  await closed;
  expect(answers).toHaveLength(1);
  return answers[0]?.error?.code;
}

describe('a request that is not one', () => {
  const good = (): string => JSON.stringify(cellRequest());
  const withPlan = (text: string): string => good().replace('"plan":{', `"plan":{${text},`);

  it('has a twin that boots a cell', async () => {
    const talk = converse(`${good()}\n`);
    expect(await talk.next('booted')).toMatchObject({ driver: 'oci' });
    talk.close();
    await talk.closed;
  });

  it.each<[string, () => string | Buffer]>([
    ['two megabytes, Privileged among them', () => `{"Privileged":true,"x":"${'x'.repeat(2 * 1024 * 1024)}"}\n`],
    ['a good request after two megabytes of blanks', () => ' '.repeat(2 * 1024 * 1024) + good()],
    ['a request of an engine', () => 'POST /containers/create HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'],
    ['a chunked body', () => `${good().length.toString(16)}\r\n${good()}\r\n0\r\n\r\n`],
    ['members twice: a good plan, then another', () => `${good().replace(/\}$/, ',"plan":{}}')}\n`],
    ['members twice: the image', () => `${withPlan(`"image":"sha256:${'f'.repeat(64)}"`)}\n`],
    ['members twice, one spelt otherwise', () => `${withPlan('"\\u0069mage":"x"')}\n`],
    [
      'bytes that are not UTF-8',
      () => Buffer.concat([Buffer.from(good().slice(0, -1)), Buffer.from([0xff, 0x7d, 0x0a])]),
    ],
    ['NUL bytes', () => `${'\0'.repeat(1000)}\n`],
    ['random bytes', () => randomBytes(5000)],
    ['an array in an array without end', () => `${'['.repeat(4000)}\n`],
    ['an unknown kind', () => lineOf({ celld: 1, open: 'exec', argv: ['/bin/sh'] })],
    ['another version', () => lineOf({ ...cellRequest(), celld: 2 })],
    ['a word beside the plan', () => lineOf({ ...cellRequest(), mounts: ['/:/host'] })],
    ['a weak key', () => lineOf({ ...cellRequest(), key: '0' })],
  ])('is refused and boots nothing: %s', async (_what, bytes) => {
    expect(await refusalOf(bytes())).toBe('CELLD_PROTOCOL');
  });

  it('is refused where it breaks off', async () => {
    const talk = converse(good().slice(0, 100));
    talk.end();
    expect(await talk.next('error')).toMatchObject({ code: 'CELLD_PROTOCOL' });
    await talk.closed;
  });

  it.each<[string, (plan: ReturnType<typeof bench.cells.plan>) => object]>([
    ['a mount', (plan) => ({ ...plan, mounts: [{ source: '/', destination: '/host' }] })],
    ['a device', (plan) => ({ ...plan, devices: ['/dev/kmsg'] })],
    ['privileges', (plan) => ({ ...plan, privileged: true })],
    ['a variable', (plan) => ({ ...plan, env: { NODE_OPTIONS: '--inspect' } })],
    ['the network of the host', (plan) => ({ ...plan, network: 'host' })],
    ['an unknown limit', (plan) => ({ ...plan, limits: { ...plan.limits, swapBytes: 1 } })],
    ['__proto__', (plan) => JSON.parse(JSON.stringify(plan).replace('{', '{"__proto__":{"role":"probe"},')) as object],
    ['no limits', ({ limits: _limits, ...plan }) => plan],
    ['a negative limit', (plan) => ({ ...plan, limits: { ...plan.limits, memoryBytes: -1 } })],
    ['a huge limit', (plan) => ({ ...plan, limits: { ...plan.limits, memoryBytes: 2 ** 50 } })],
    ['a limit that is no number', (plan) => ({ ...plan, limits: { ...plan.limits, pids: Number.NaN } })],
    ['a limit as text', (plan) => ({ ...plan, limits: { ...plan.limits, pids: '64' } })],
    ['a lifetime without end', (plan) => ({ ...plan, limits: { ...plan.limits, lifetimeMs: 2 ** 31 } })],
    ['an unknown role', (plan) => ({ ...plan, role: 'shell' })],
    ['an unknown class', (plan) => ({ ...plan, class: 'none' })],
    ['an image by name', (plan) => ({ ...plan, image: 'debian:latest' })],
    ['an image by path', (plan) => ({ ...plan, image: '../../../' })],
    ['nothing', () => []],
  ])('is refused and boots nothing: a plan with %s', async (_what, change) => {
    expect(await refusalOf(lineOf(cellRequest(change(bench.cells.plan()))))).toBe('PLAN_REFUSED');
  });

  it('is refused with a foreign image, a class that cannot be had, and an id that is a path', async () => {
    const plan = bench.cells.plan();
    expect(await refusalOf(lineOf(cellRequest({ ...plan, image: `sha256:${'f'.repeat(64)}` })))).toBe('IMAGE_MISSING');
    expect(await refusalOf(lineOf({ ...cellRequest(), id: 'cell_../../../../../../etc' }))).toBe('PLAN_REFUSED');
    const talk = converse(lineOf(cellRequest({ ...plan, class: 'kvm' })));
    expect(await talk.next('error')).toMatchObject({ code: 'CLASS_UNAVAILABLE' });
    await talk.closed;
  });
});

describe("another client's cell", () => {
  const stream = (id: string, key: string, name = 'stdout') =>
    lineOf({ celld: 1, open: 'stream', id, key, stream: name });

  it('cannot be attached to without its key, and nobody is told whether it is there', async () => {
    const cell = await bench.cells.boot({}, driver);
    const other = converse(lineOf(cellRequest()));
    await other.next('booted');
    const mine = cellRequest();
    const own = converse(lineOf(mine));
    await own.next('booted');
    const there = converse(stream(cell.id, mine.key));
    const nowhere = converse(stream(newCellId(), mine.key));
    await Promise.all([there.closed, nowhere.closed]);
    expect(there.answers).toEqual(nowhere.answers);
    expect(there.answers[0]?.error?.code).toBe('CELLD_PROTOCOL');
    // The own one can be.
    const twin = converse(stream(mine.id, mine.key));
    await twin.next('attached');
    for (const talk of [own, other, twin]) talk.close();
    cell.run('say("untouched")');
    expect(await cell.heard()).toBe('untouched');
  });

  it('cannot have its id used a second time, with its key or another', async () => {
    const request = cellRequest();
    const first = converse(lineOf(request));
    await first.next('booted');
    expect(await refusalOf(lineOf(request))).toBe('PLAN_REFUSED');
    expect(await refusalOf(lineOf({ ...request, key: newKey() }))).toBe('PLAN_REFUSED');
    expect(first.answers.some((answer) => 'error' in answer || 'ended' in answer)).toBe(false);
    first.close();
    await first.closed;
  });

  it('cannot be killed or dispatched: an order is for the cell of its own connection', async () => {
    const cell = await bench.cells.boot({}, driver);
    expect(await refusalOf(lineOf({ kill: { cause: 'done' }, id: cell.id }))).toBe('CELLD_PROTOCOL');
    const own = converse(lineOf(cellRequest()));
    await own.next('booted');
    own.say(lineOf({ kill: { cause: 'done' }, id: cell.id }));
    expect(await own.next('error')).toMatchObject({ code: 'CELLD_PROTOCOL' });
    await own.closed;
    cell.run('say("alive")');
    expect(await cell.heard()).toBe('alive');
  });
});

describe("one's own cell", () => {
  const open = async () => {
    const request = cellRequest();
    const control = converse(lineOf(request));
    await control.next('booted');
    const attach = (stream: string): Conversation =>
      converse(lineOf({ celld: 1, open: 'stream', id: request.id, key: request.key, stream }));
    return { request, control, attach };
  };

  it('has each stream once, and no other', async () => {
    const { control, attach } = await open();
    const first = attach('channel');
    await first.next('attached');
    for (const stream of ['channel', 'stdin', 'control']) {
      const second = attach(stream);
      expect(await second.next('error')).toMatchObject({ code: 'CELLD_PROTOCOL' });
    }
    first.close();
    const again = attach('channel');
    expect(await again.next('error')).toMatchObject({ code: 'CELLD_PROTOCOL' });
    control.close();
  });

  it('is heard of a stream that is attached to after its death, to the last byte', async () => {
    const { control, attach } = await open();
    const channel = attach('channel');
    await channel.next('attached');
    channel.say(
      "require('node:fs').writeSync(1, JSON.stringify({ words: { code: 'last' } }) + '\\n'); process.reallyExit(0)\0",
    );
    expect(await control.next('ended')).toMatchObject({ cause: 'self' });
    const stdout = attach('stdout');
    expect(await stdout.next('words')).toEqual({ code: 'last' });
    expect(await control.next('drained')).toBeDefined();
    control.close();
  });

  it('cannot be attached to once it is over', async () => {
    const { control, attach } = await open();
    const streams = ['channel', 'stdout', 'stderr'].map(attach);
    await Promise.all(streams.map((talk) => talk.next('attached')));
    control.say(lineOf({ kill: { cause: 'done' } }));
    expect(await control.next('ended')).toMatchObject({ cause: 'done' });
    await control.closed;
    expect(await attach('stdout').next('error')).toMatchObject({ code: 'CELLD_PROTOCOL' });
  });

  it.each([
    [
      'a second dispatch',
      `${lineOf({ dispatch: { cpu: 0.5, deadlineMs: 20_000 } })}${lineOf({ dispatch: { cpu: 0.5, deadlineMs: 1e9 } })}`,
    ],
    ['a second kill', lineOf({ kill: { cause: 'done' } }).repeat(2)],
    ['a megabyte of orders to kill it', lineOf({ kill: { cause: 'done' } }).repeat(40_000)],
    ['an order with a member twice', '{"kill":{"cause":"done","cause":"done"}}\n'],
    ['another boot', lineOf(cellRequest())],
    ['a line without end', 'x'.repeat(100_000)],
  ])('is killed by %s on its connection', async (_what, bytes) => {
    const { control } = await open();
    control.say(bytes);
    expect(await control.next('error')).toMatchObject({ code: 'CELLD_PROTOCOL' });
    await control.closed;
    expect(await eventually(() => bench.residue().claims.length === 0)).toBe(true);
  });

  it('is killed by an order before it is booted, and by a word on a stream that only tells', async () => {
    const early = converse(lineOf(cellRequest()) + lineOf({ kill: { cause: 'done' } }));
    expect(await early.next('error')).toMatchObject({ code: 'CELLD_PROTOCOL' });
    await early.closed;
    const { control, attach } = await open();
    const stdout = attach('stdout');
    await stdout.next('attached');
    stdout.say('more');
    expect(await control.next('error')).toMatchObject({ code: 'CELLD_PROTOCOL' });
    await control.closed;
  });

  it('gets no more from a dispatch than its plan has, and is told so', async () => {
    const { control } = await open();
    control.say(lineOf({ dispatch: { cpu: 8, deadlineMs: 1e15 } }));
    expect(await control.next('refused')).toMatchObject({ code: 'PLAN_REFUSED' });
    control.close();
    await control.closed;
  });
});

describe('connections', () => {
  it('that say nothing are dropped, and are no more than celld allows, and then others are served', async () => {
    const silent = Array.from({ length: 5 * 64 + 32 }, () => converse());
    // Each is told and then given a moment, during which it counts: one that closed at once would make room for the next.
    const refused = Array.from({ length: 32 }, () => converse(undefined, { allowHalfOpen: true }));
    const dropped = converse();
    await dropped.closed;
    expect(dropped.answers).toEqual([]);
    for (const talk of refused) expect(await talk.next('error')).toMatchObject({ code: 'CELLD_FULL' });
    for (const talk of refused) talk.close();
    await Promise.all([...silent, ...refused].map(({ closed }) => closed));
    expect(silent.every(({ answers }) => answers[0]?.error?.code === 'CELLD_PROTOCOL')).toBe(true);
    const cell = await bench.cells.boot({}, driver);
    cell.run('say("served")');
    expect(await cell.heard()).toBe('served');
  });
});
