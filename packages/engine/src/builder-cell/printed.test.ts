import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { Printed } from './printed.ts';

it('keeps the beginning and the end of what is printed, and tells once when it is too much', async () => {
  const stream = new PassThrough();
  let floods = 0;
  const printed = new Printed(stream, 20_000, () => floods++);
  stream.write('begin');
  stream.write('x'.repeat(15_000));
  await new Promise(setImmediate);
  expect(floods).toBe(0);
  for (let i = 0; i < 3; i++) stream.write('y'.repeat(10_000));
  stream.end('end');
  await new Promise(setImmediate);
  expect(floods).toBe(1);
  const text = printed.text();
  expect(text).toMatch(/^beginx{4091}y{4093}end$/);
});

it('is whole when it is short', async () => {
  const stream = new PassThrough();
  const printed = new Printed(stream);
  stream.end('all of it');
  await new Promise(setImmediate);
  expect(printed.text()).toBe('all of it');
});
