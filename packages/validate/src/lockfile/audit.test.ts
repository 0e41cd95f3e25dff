import { describe, expect, it } from 'vitest';
import { auditLockfile } from './audit.ts';

const integrity = `sha512-${Buffer.alloc(64, 7).toString('base64')}`;
const allowances = {
  registries: ['https://registry.example'],
  workspaces: ['packages/own'],
  withInstallScript: ['builder'],
};

const audit = (packages: object, version: unknown = 3): string[] =>
  auditLockfile(Buffer.from(JSON.stringify({ lockfileVersion: version, packages })), allowances).map(
    ({ rule, message }) => `${rule} ${message}`,
  );

const good = {
  '': { name: 'repository' },
  'packages/own': { name: '@scope/own', version: '1.0.0' },
  'node_modules/@scope/own': { resolved: 'packages/own', link: true },
  'node_modules/a': { version: '1.0.0', integrity },
  'node_modules/a/node_modules/b': {
    version: '2.0.0',
    integrity,
    resolved: 'https://registry.example/b/-/b-2.0.0.tgz',
  },
  'packages/own/node_modules/b': { version: '1.0.0', integrity },
  'node_modules/builder': { version: '1.0.0', integrity, hasInstallScript: true },
  'node_modules/code-linux-x64': { version: '1.0.0', integrity, os: ['linux'], cpu: ['x64'], optional: true },
};

it('finds nothing in a lockfile of plain packages, workspaces and what is allowed', () => {
  expect(audit(good)).toEqual([]);
});

describe('refuses', () => {
  it.each<[string, object, RegExp]>([
    ['a package without a hash', { 'node_modules/a': { version: '1.0.0' } }, /has no sha512 integrity/],
    [
      'a weak hash',
      { 'node_modules/a': { version: '1.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' } },
      /has no sha512 integrity/,
    ],
    [
      'another host',
      { 'node_modules/a': { version: '1.0.0', integrity, resolved: 'https://elsewhere.example/a/-/a-1.0.0.tgz' } },
      /not the registry/,
    ],
    [
      'a repository',
      { 'node_modules/a': { version: '1.0.0', integrity, resolved: 'git+ssh://git@host.example/a.git#1' } },
      /not https/,
    ],
    ['a link that leaves the repository', { 'node_modules/a': { resolved: '../a', link: true } }, /no workspace/],
    ['an alias', { 'node_modules/a': { name: 'b', version: '1.0.0', integrity } }, /is an alias/],
    [
      'an install script',
      { 'node_modules/a': { version: '1.0.0', integrity, hasInstallScript: true } },
      /has an install script/,
    ],
    [
      'machine code that cannot be left out',
      { 'node_modules/a': { version: '1.0.0', integrity, cpu: ['x64'] } },
      /is machine code/,
    ],
    ['a path out of node_modules', { '../a': { version: '1.0.0', integrity } }, /not a path in node_modules/],
  ])('%s', (_, packages, message) => {
    const found = audit({ ...good, ...packages });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^LOCKFILE_ENTRY_REFUSED /);
    expect(found[0]).toMatch(message);
  });

  it('another version of the format, and what is no lockfile', () => {
    expect(audit(good, 2)[0]).toMatch(/^LOCKFILE_INVALID /);
    expect(auditLockfile(Buffer.from('[]'), allowances)[0]?.rule).toBe('LOCKFILE_INVALID');
    expect(auditLockfile(Buffer.from('{'), allowances)[0]?.rule).toBe('LOCKFILE_INVALID');
  });
});
