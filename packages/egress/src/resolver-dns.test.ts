import { afterEach, describe, expect, it } from 'vitest';
import { failure } from '../test/dialing.ts';
import { openNameServer, packName, type Question, type Reply } from '../test/name-server.ts';
import { formatAddress } from './address.ts';
import { askNameServers } from './resolver-dns.ts';

const [A, CNAME, AAAA] = [1, 5, 28];
const four = (last: number) => ({ type: A, data: Uint8Array.of(192, 0, 2, last) });
const six = (last: number) => ({ type: AAAA, data: Uint8Array.of(0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), last) });
const records = (...all: Extract<Reply, { kind: 'records' }>['records']): Reply => ({ kind: 'records', records: all });
const silent: Reply = { kind: 'silent' };
const refused = (code: number): Reply => ({ kind: 'refused', code });

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(answer: (question: Question) => Reply) {
  const { server, asked, close } = await openNameServer(answer);
  closing.push(close);
  const resolve = async (host: string, signal = new AbortController().signal) =>
    (await askNameServers(host, signal, [server])).map(formatAddress);
  return { resolve, asked };
}

describe('name servers', () => {
  it('are asked for both families of the very name, once each', async () => {
    const { resolve, asked } = await open(({ type }) => (type === A ? records(four(1), four(2)) : records(six(1))));
    expect(await resolve('a')).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1']);
    expect(asked.map(({ name, type }) => `${name} ${type}`).sort()).toEqual(['a 1', 'a 28']);
  });

  it('may lead on to another name, and give what is no address', async () => {
    const alias = { type: CNAME, data: packName('b.test') };
    const { resolve } = await open(({ type }) =>
      type === A ? records(alias, { ...four(7), name: 'b.test' }) : records(alias),
    );
    expect(await resolve('a.test')).toEqual(['192.0.2.7']);
  });

  it('are not waited for long where they answer for one family alone', async () => {
    const { resolve } = await open(({ name, type }) =>
      name.startsWith('four') === (type === A) ? records(type === A ? four(1) : six(1)) : silent,
    );
    const startedMs = performance.now();
    expect(await Promise.all([resolve('four.test'), resolve('six.test')])).toEqual([['192.0.2.1'], ['2001:db8::1']]);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it.each([
    ['there is no such name', refused(3), refused(3), 'NAME_NOT_FOUND'],
    ['it has no address', records(), records(), 'NAME_NOT_FOUND'],
    ['they refuse', refused(5), refused(5), 'NAME_NOT_FOUND'],
  ])('say that %s', async (_what, ofFour, ofSix, reason) => {
    const { resolve } = await open(({ type }) => (type === A ? ofFour : ofSix));
    expect(await failure(resolve('a.test'))).toMatchObject({ code: 'EGRESS_FAILED', reason });
  });

  it('are asked no more once whoever asks has gone', async () => {
    const { resolve, asked } = await open(() => silent);
    await expect(resolve('a.test', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    const going = new AbortController();
    const waiting = resolve('b.test', going.signal);
    await expect.poll(() => asked.length).toBe(2);
    going.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(asked.every(({ name }) => name === 'b.test')).toBe(true);
  });
});
