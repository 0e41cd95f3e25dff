import { execFileSync } from 'node:child_process';
import { afterEach, expect, it } from 'vitest';
import { ask, closeDialers, failure, loopbackOnly, openDialer, readText } from '../test/dialing.ts';
import { closeOrigins, openHttp1 } from '../test/origins.ts';
import type { Dialer } from './api.ts';
import { lateDialer } from './late-dialer.ts';

afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

const origin = () => openHttp1((_request, response) => void response.end('hello'));

it('opens the dialer with the first request, once, and for none before', async () => {
  const { port, seen } = await origin();
  let opened = 0;
  const scope = lateDialer(async () => {
    opened++;
    return openDialer();
  }).scope('node', loopbackOnly);
  expect(opened).toBe(0);
  const answers = await Promise.all([1, 2].map(() => scope.request(ask(`http://origin.test:${port}/`))));
  expect(await Promise.all(answers.map(({ body }) => readText(body)))).toEqual(['hello', 'hello']);
  expect({ opened, seen: seen.length }).toEqual({ opened: 1, seen: 2 });
  scope.destroy();
  expect(await failure(scope.request(ask(`http://origin.test:${port}/`)))).toMatchObject({ reason: 'ATTEMPT_ENDED' });
  expect(seen).toHaveLength(2);
});

it('sends nothing for a scope that ended before the first request, or while the dialer opened', async () => {
  const { port, seen } = await origin();
  const opening = Promise.withResolvers<Dialer>();
  let opened = 0;
  const dialer = lateDialer(() => {
    opened++;
    return opening.promise;
  });
  const [ended, ending, living] = [1, 2, 3].map(() => dialer.scope('node', loopbackOnly));
  ended?.destroy();
  const request = () => ask(`http://origin.test:${port}/`);
  expect(await failure(ended?.request(request()) as never)).toMatchObject({
    code: 'EGRESS_DENIED',
    reason: 'ATTEMPT_ENDED',
  });
  expect(opened).toBe(0);
  const late = failure(ending?.request(request()) as never);
  const upgrade = failure(ending?.upgrade(request()) as never);
  ending?.destroy();
  const answer = living?.request(request());
  opening.resolve(openDialer());
  expect(await late).toMatchObject({ reason: 'ATTEMPT_ENDED' });
  expect(await upgrade).toMatchObject({ reason: 'ATTEMPT_ENDED' });
  expect((await answer)?.status).toBe(200);
  expect(seen).toHaveLength(1);
});

it('fails the request for which the dialer could not be opened, and tries again with the next', async () => {
  const { port } = await origin();
  const outcomes: (() => Promise<Dialer>)[] = [async () => Promise.reject(new Error('no')), async () => openDialer()];
  const scope = lateDialer(() => (outcomes.shift() as () => Promise<Dialer>)()).scope('node', loopbackOnly);
  await expect(scope.request(ask(`http://origin.test:${port}/`))).rejects.toThrow('no');
  expect((await scope.request(ask(`http://origin.test:${port}/`))).status).toBe(200);
});

it.each([
  ['./offline.ts', []],
  ['./index.ts', ['http', 'https', 'net', 'tls']],
])('is offered by a module that loads of what connects: %s', (name, loaded) => {
  const program = `await import(${JSON.stringify(new URL(name, import.meta.url).href)});
    console.log(process.moduleLoadList.flatMap((entry) => /^NativeModule (https?|http2|net|tls|dns|undici)$/.exec(entry)?.[1] ?? []).join());`;
  const told = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  const found = told
    .trim()
    .split(',')
    .filter((module) => module !== '');
  expect(found).toEqual(loaded.length === 0 ? [] : expect.arrayContaining(loaded));
});
