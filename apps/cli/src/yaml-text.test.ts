import { expect, it } from 'vitest';
import { parseYaml } from './yaml-text.ts';

it.each([
  ['a set, which has no members', '!!set { denials }'],
  ['a set further in', 'denials: !!set { a }'],
  ['bytes', 'reason: !!binary aGk='],
  ['a time', 'reason: !!timestamp 2001-12-14'],
  ['an object of JavaScript', '!!js/function x'],
])('refuses %s', async (_what, text) => {
  expect(await parseYaml(text)).toMatchObject({
    ok: false,
    message: expect.stringContaining('tag'),
    place: { line: 1 },
  });
});

it('takes what JSON has, however it is written', async () => {
  for (const text of [
    '{"a": ["2001-12-14", 1, null]}',
    'a:\n  - 2001-12-14\n  - 1\n  -\n',
    'a: [ !!str 2001-12-14, !!int 1, !!null ~ ]',
  ])
    expect(await parseYaml(text)).toMatchObject({ ok: true, value: { a: ['2001-12-14', 1, null] } });
});
