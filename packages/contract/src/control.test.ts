import { expect, it } from 'vitest';
import { guestErrorSchema, guestLogSchema, progressSchema } from './control.ts';

const fields = JSON.parse('{"__proto__":{"a":1},"constructor":[1]}') as object;

it('takes the JSON in logs and errors as it is, without a walk that drops members', () => {
  const log = guestLogSchema.parse({ source: 'node', level: 'info', message: '', fields });
  expect(log.fields).toBe(fields);
  const error = guestErrorSchema.parse({ code: 'X', message: '', details: fields });
  expect(error.details).toBe(fields);
  for (const details of [null, false, 0, '', []]) {
    expect(guestErrorSchema.parse({ code: 'X', message: '', details }).details).toBe(details);
  }
});

it.each([
  ['a log record', guestLogSchema, '{"source":"node","level":"info","message":"","__proto__":{}}'],
  ['an error', guestErrorSchema, '{"code":"X","message":"","__proto__":{"retryable":true}}'],
  ['a progress report', progressSchema, '{"fraction":1,"__proto__":{"message":"x"}}'],
])('refuses %s with a member that is none of its own', (_, schema, text) => {
  expect(schema.safeParse(JSON.parse(text)).success).toBe(false);
});
