import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findingsOf, goodFiles, packageDirectory } from '../../test/kit.ts';
import { readNodePackage } from '../node-package.ts';

const words = fc.constantFrom(
  ...[
    'name',
    'version',
    'license',
    'type',
    'dependencies',
    'devDependencies',
    'packages',
    '',
    'node_modules/a',
    'link',
  ],
  ...[
    'id',
    'title',
    'input',
    'output',
    'capabilities',
    'http',
    'rules',
    'host',
    'credentials',
    'resources',
    '__proto__',
  ],
  ...['lockfileVersion', 'integrity', 'resolved', 'peerDependencies', 'os', 'constructor', 'toString', 'schemaVersion'],
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1, 3, -1, 1.5, '', 'a', '1.0.0', '^1.0.0', 'sample-node', 'https://a.example/a.tgz'),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(words, tie('value')), { maxLength: 6 })
      .map((entries) =>
        entries.reduce(
          (object, [key, member]) =>
            Object.defineProperty(object, key, { value: member, enumerable: true, configurable: true }),
          {},
        ),
      ),
  ),
}));

it('answers whatever the files hold, with findings that can be shown', async () => {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('node.json', 'package.json', 'package-lock.json'),
      value,
      async (file, content) => {
        const base = JSON.parse(
          { ...goodFiles, 'package-lock.json': '{"lockfileVersion":3,"packages":{"":{}}}' }[file],
        ) as object;
        const merged =
          typeof content === 'object' && content !== null && !Array.isArray(content)
            ? { ...base, ...content }
            : content;
        const result = await readNodePackage(packageDirectory({ [file]: JSON.stringify(merged) ?? '' }));
        if (!result.ok) refused++;
        for (const finding of findingsOf(result)) {
          expect(finding.message).not.toMatch(/[\p{Cc}\p{Cs}]|undefined|\[object/u);
          expect(finding.message.length).toBeLessThan(2000);
          expect(finding.hint).not.toBe('');
        }
        expect(findingsOf(result).some(({ severity }) => severity === 'error')).toBe(!result.ok);
      },
    ),
    { seed: 11, numRuns: 500 },
  );
  expect(refused).toBeGreaterThan(100);
});
