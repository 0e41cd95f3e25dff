import { expect, it } from 'vitest';
import { registryName } from './package-name.ts';

it.each(['a', '_', '_old', '@_scope/_old', 'JSONStream', 'a.b', '~tilde', '@s/node_modules.js', 'n'.repeat(214)])(
  'takes %s for the name of a package',
  (name) => expect(registryName.test(name)).toBe(true),
);

it.each([
  '',
  '.',
  '..',
  '.hidden',
  '@a',
  '@a/',
  '@/b',
  '@a/.b',
  '@.a/b',
  '@a/..',
  '@../b',
  'a/b',
  '@a/b/c',
  'a\\b',
  'a%2fb',
  'a b',
  'a\n',
  '\u212Aelvin',
  'node_modules',
  'Node_Modules',
  '@a/node_modules',
  'favicon.ico',
  'n'.repeat(215),
  `@${'s'.repeat(107)}/${'n'.repeat(107)}`,
])('refuses %j', (name) => expect(registryName.test(name)).toBe(false));
