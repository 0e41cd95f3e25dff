import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ClientStream, connectClient } from '@glovebox/channel';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { makeCa, type TestCa } from '../test/ca.ts';
import { closeOrigins, type Origin, openHttp1 } from '../test/origins.ts';
import { readAnswer, until } from '../test/sessions.ts';
import { bootClockMs } from './boot-clock.ts';

const program = fileURLToPath(new URL('../test/stopped-host-program.ts', import.meta.url));

/** From the moment at which the host's side is ready to the deadline of its attempt. */
const leftMs = 4000;
/** For whatever wakes late to do what it must not. */
const lateMs = 1000;

let ca: TestCa;
let identity: ReturnType<TestCa['issue']>;
beforeAll(() => {
  ca = makeCa();
  identity = ca.issue(['DNS:origin.test']);
});
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await closeOrigins();
});

/** The cell's end of a channel whose host is a process of its own, and an origin that counts the bytes of bodies. */
async function started() {
  const got = { bytes: 0, requests: [] as IncomingMessage[] };
  const origin = await openHttp1((request, response) => {
    got.requests.push(request);
    request.on('data', (chunk: Buffer) => {
      got.bytes += chunk.length;
    });
    request.once('end', () => response.end('hello'));
  }, identity);
  const args = [program, String(origin.port), ca.cert, String(leftMs)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit', 'pipe'], env: {} });
  children.push(child);
  const [said] = (await once(child.stdout as Readable, 'data')) as [Buffer];
  const deadlineAtBootMs = Number(said);
  const client = connectClient(child.stdio[3] as Duplex);
  const open = (method: string): ClientStream => {
    const stream = client.open({ method, url: `https://origin.test:${origin.port}/`, headers: {} });
    stream.response.catch(() => undefined);
    return stream;
  };
  return { origin, got, child, deadlineAtBootMs, open };
}

type Started = Awaited<ReturnType<typeof started>>;

async function stop({ child, deadlineAtBootMs }: Started): Promise<void> {
  child.kill('SIGSTOP');
  await until(() => / T /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8')));
  expect(bootClockMs(), 'it was stopped before its deadline').toBeLessThan(deadlineAtBootMs);
}

async function wakeLate({ child, deadlineAtBootMs }: Started): Promise<void> {
  await sleep(deadlineAtBootMs - bootClockMs() + 50);
  child.kill('SIGCONT');
}

const chunk = Buffer.alloc(10_000, 1);
const openSockets = (origin: Origin): number => origin.sockets.size;

it('sends nothing more of an upload when the host was stopped in the midst of it and wakes after the deadline', async () => {
  const attempt = await started();
  const upload = attempt.open('PUT');
  for (let i = 0; i < 4; i++) await upload.write(chunk);
  await until(() => attempt.got.bytes === 40_000);
  await stop(attempt);
  // The cell goes on: what it says waits for the host.
  for (let i = 0; i < 4; i++) await upload.write(chunk);
  upload.end();
  await wakeLate(attempt);
  await expect(readAnswer(upload)).rejects.toThrow(/ATTEMPT_ENDED/);
  await sleep(lateMs);
  expect(attempt.got.bytes).toBe(40_000);
  expect(openSockets(attempt.origin)).toBe(0);
});

it('sends no request that came while the host was stopped, on a connection that is kept, when it wakes after the deadline', async () => {
  const attempt = await started();
  const first = attempt.open('GET');
  first.end();
  expect((await readAnswer(first)).text).toBe('hello');
  expect(openSockets(attempt.origin)).toBe(1);
  await stop(attempt);
  const second = attempt.open('GET');
  second.end();
  await wakeLate(attempt);
  expect((await readAnswer(second)).problem).toMatchObject({ code: 'EGRESS_DENIED', reason: 'ATTEMPT_ENDED' });
  await sleep(lateMs);
  expect(attempt.origin.seen).toHaveLength(1);
  expect(openSockets(attempt.origin)).toBe(0);
});

it('goes on with both when the host wakes in time', async () => {
  const attempt = await started();
  const upload = attempt.open('PUT');
  await upload.write(chunk);
  await until(() => attempt.got.bytes === 10_000);
  await stop(attempt);
  await upload.write(chunk);
  upload.end();
  const request = attempt.open('GET');
  request.end();
  await sleep(100);
  expect(attempt.got.bytes).toBe(10_000);
  attempt.child.kill('SIGCONT');
  expect((await readAnswer(upload)).text).toBe('hello');
  expect((await readAnswer(request)).text).toBe('hello');
  expect(attempt.got.bytes).toBe(20_000);
  expect(attempt.origin.seen).toHaveLength(2);
});

it('sends at most the one piece that its socket had when it was stopped, where the origin was slow to take it', async () => {
  const attempt = await started();
  const upload = attempt.open('PUT');
  await upload.write(chunk);
  await until(() => attempt.got.bytes === 10_000);
  const [request] = attempt.got.requests as [IncomingMessage];
  request.pause();
  let handed = 0;
  const push = async (): Promise<void> => {
    for (;;) {
      await upload.write(Buffer.alloc(65_536, 2));
      handed += 65_536;
    }
  };
  const pushing = push().catch(() => undefined);
  let before = -1;
  while (before !== handed) {
    before = handed;
    await sleep(300);
  }
  await stop(attempt);
  request.resume();
  await sleep(attempt.deadlineAtBootMs - bootClockMs() + 50);
  const drained = attempt.got.bytes;
  attempt.child.kill('SIGCONT');
  await sleep(lateMs);
  expect(drained).toBeGreaterThan(2 * chunk.byteLength);
  expect(attempt.got.bytes - drained).toBeLessThanOrEqual(16_384);
  // The cell had more to say, and was told.
  expect(handed).toBeGreaterThan(attempt.got.bytes);
  await pushing;
  await expect(readAnswer(upload)).rejects.toThrow(/ATTEMPT_ENDED/);
});
