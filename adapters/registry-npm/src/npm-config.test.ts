import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Environment, readNpmConfig } from './npm-config.ts';
import { parseNpmrc } from './npmrc.ts';

const npmDefault: string = createRequire(import.meta.url)('npm-registry-fetch/lib/default-opts.js').registry;

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-npmrc-'));
  for (const dir of ['project', 'global/etc']) mkdirSync(join(home, dir), { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const write = (path: string, ...lines: string[]): void => writeFileSync(join(home, path), lines.join('\n'));
/** A reference to a variable, as npmrc has it. */
const variable = (name: string): string => `\${${name}}`;
const read = (env: Environment = {}, more: { projectDir?: string; registry?: string } = {}) =>
  readNpmConfig({ env: { HOME: home, npm_config_prefix: join(home, 'global'), ...env }, ...more });

describe('the registry', () => {
  it("that a lockfile may name is npm's default, the configured one and those of scopes", () => {
    write('.npmrc', 'registry=https://one.example/npm/', '@s:registry=https://two.example');
    expect(read().registries()).toEqual([
      npmDefault.replace(/\/$/, ''),
      'https://one.example/npm',
      'https://two.example',
    ]);
  });

  it('is the public one when nothing is configured', () => {
    expect(read().registryFor('left-pad').href).toBe(npmDefault);
  });

  it('comes from the option, then the environment, then the project, then the user, then the global file', () => {
    const inProject = { projectDir: join(home, 'project') };
    const seen = (env: Environment = {}, more = inProject): string => read(env, more).registryFor('x').href;
    write('global/etc/npmrc', 'registry=https://global.test/npm');
    expect(seen()).toBe('https://global.test/npm/');
    write('.npmrc', 'registry = https://user.test');
    expect(seen()).toBe('https://user.test/');
    write('project/.npmrc', 'registry="https://project.test/"');
    expect(seen()).toBe('https://project.test/');
    expect(read().registryFor('x').href).toBe('https://user.test/');
    expect(seen({ NPM_CONFIG_REGISTRY: 'https://env.test' })).toBe('https://env.test/');
    const chosen = { ...inProject, registry: 'https://option.test' };
    expect(seen({ npm_config_registry: 'https://env.test' }, chosen)).toBe('https://option.test/');
  });

  it('can be another one for a scope, but not where it was chosen outright', () => {
    write('.npmrc', '@ours:registry=https://ours.test/npm/');
    expect(read().registryFor('@ours/x').href).toBe('https://ours.test/npm/');
    expect(read().registryFor('@others/x').href).toBe(npmDefault);
    expect(read({}, { registry: 'https://option.test' }).registryFor('@ours/x').href).toBe('https://option.test/');
  });

  it('is found in the files that the environment names', () => {
    write('mine', 'registry=https://mine.test');
    expect(read({ npm_config_userconfig: join(home, 'mine') }).registryFor('x').host).toBe('mine.test');
    expect(read({ npm_config_globalconfig: join(home, 'mine') }).registryFor('x').host).toBe('mine.test');
  });

  it.each(['file:///etc/passwd', 'ftp://x.test', 'nonsense', 'javascript:alert(1)'])(
    'is refused when it is %s',
    (registry) => {
      const config = read({ npm_config_registry: registry });
      expect(() => config.registryFor('x')).toThrow(expect.objectContaining({ code: 'REGISTRY_UNAVAILABLE' }));
      expect(read({ npm_config_registry: 'http://localhost:4873' }).registryFor('x').href).toBe(
        'http://localhost:4873/',
      );
    },
  );
});

describe('secrets', () => {
  it('are taken from the user with variables replaced, and nothing of the kind from the project', () => {
    write(
      '.npmrc',
      `//user.test/:_authToken=${variable('TOKEN')}`,
      `//user.test/:certfile=${variable('NOT_SET')}`,
      `//b.test/:_authToken=${variable('NOT_SET?')}`,
    );
    write(
      'project/.npmrc',
      `//evil.test/:_authToken=${variable('TOKEN')}`,
      `registry=https://evil.test/${variable('TOKEN')}/`,
      'cafile=/etc/passwd',
      'proxy=http://evil.test',
    );
    const config = read({ TOKEN: 'canary' }, { projectDir: join(home, 'project') });
    expect(config.credentials).toEqual({
      '//user.test/:_authToken': 'canary',
      '//user.test/:certfile': `${variable('NOT_SET')}`,
      '//b.test/:_authToken': '',
    });
    expect(config.registryFor('x').href).not.toContain('canary');
    expect(config.authorities).toEqual({ instead: [], besides: [] });
    expect(config.proxy).toEqual({});
  });

  it('of the environment go before those of the user, those of the user before global ones', () => {
    write(
      'global/etc/npmrc',
      '//a.test/:_authToken=global',
      '//b.test/:_authToken=global',
      '//c.test/:_authToken=global',
    );
    write('.npmrc', '//a.test/:_authToken=user', '//b.test/:_authToken=user');
    expect(read({ 'npm_config_//a.test/:_authToken': 'env' }).credentials).toEqual({
      '//a.test/:_authToken': 'env',
      '//b.test/:_authToken': 'user',
      '//c.test/:_authToken': 'global',
    });
  });
});

it('takes certificate authorities and proxies from npm and from the environment', () => {
  write(
    '.npmrc',
    `cafile=${join(home, 'ca.pem')}`,
    'ca[]="one\\ntwo"',
    'ca[]=three',
    'https-proxy=http://proxy.test:1',
  );
  write('ca.pem', 'of the file');
  write('extra.pem', 'extra');
  const config = read({
    NODE_EXTRA_CA_CERTS: join(home, 'extra.pem'),
    HTTPS_PROXY: 'http://other.test',
    NO_PROXY: 'a.test',
  });
  expect(config.authorities).toEqual({ instead: ['one\ntwo', 'three', 'of the file'], besides: ['extra'] });
  expect(config.proxy).toEqual({
    HTTP_PROXY: 'http://proxy.test:1',
    HTTPS_PROXY: 'http://proxy.test:1',
    NO_PROXY: 'a.test',
  });
  rmSync(join(home, '.npmrc'));
  expect(read({ https_proxy: 'http://other.test' }).proxy).toEqual({ HTTPS_PROXY: 'http://other.test' });
  expect(read({ NODE_EXTRA_CA_CERTS: join(home, 'gone.pem') }).authorities.besides).toEqual([]);
});

it('reads null and false as no proxy that is configured, as npm does', () => {
  const env = { https_proxy: 'http://other.test' };
  write('.npmrc', 'https-proxy=null', 'proxy=null');
  expect(read(env).proxy).toEqual({ HTTPS_PROXY: 'http://other.test' });
  write('.npmrc', 'https-proxy=null', 'proxy=http://proxy.test');
  expect(read(env).proxy).toEqual({ HTTP_PROXY: 'http://proxy.test', HTTPS_PROXY: 'http://proxy.test' });
  write('.npmrc', 'proxy=false');
  expect(read(env).proxy).toEqual({ HTTPS_PROXY: 'http://other.test' });
});

describe('the syntax', () => {
  it('is that of npm: comments, quotes, escapes, lists, sections', () => {
    const text = [
      '; comment',
      '# comment',
      'plain=a value ; comment',
      String.raw`escaped=a\;b\#c\\d # comment`,
      'double="a ; b"',
      "single='a ; b'",
      'flag',
      'empty=',
      'list[]=1',
      'list[]=2',
      'twice=1',
      'twice=2',
      'with=equals=in it\r',
      '[section]',
      'registry=https://section.test',
    ].join('\n');
    expect(Object.fromEntries(parseNpmrc(text))).toEqual({
      plain: ['a value'],
      escaped: [String.raw`a;b#c\d`],
      double: ['a ; b'],
      single: ['a ; b'],
      flag: ['true'],
      empty: [''],
      list: ['1', '2'],
      twice: ['2'],
      with: ['equals=in it'],
    });
  });
});
