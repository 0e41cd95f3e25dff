import { manifestLimits } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { findingsOf, goodManifest, packageDirectory, told } from '../../test/kit.ts';
import { type ReadResult, readNodePackage } from '../node-package.ts';

const withManifest = (text: string | Uint8Array) => readNodePackage(packageDirectory({ 'node.json': text }));
const withFields = (fields: object) => withManifest(JSON.stringify({ ...goodManifest, ...fields }));
/** What has no effect yet is told in a test of its own. */
const faults = (result: ReadResult) => findingsOf(result).filter(({ rule }) => rule !== 'NOT_AVAILABLE_YET');
const messages = async (fields: object) =>
  faults(await withFields(fields)).map(({ message, place }) => `${place.path} ${message}`);

const rule = { host: 'api.example.com', methods: ['GET'], paths: ['/v1/**'] };
const slot = { kinds: ['bearer'], hosts: ['api.example.com'] };

it('accepts a manifest that uses every field', async () => {
  const result = await withFields({
    $schema: '.glovebox/node.schema.json',
    description: 'x',
    category: 'transform',
    config: { type: 'object' },
    capabilities: {
      http: {
        rules: [{ ...rule, scheme: 'https', port: 443, reason: 'r' }],
        maxRequests: 5,
        maxResponseBytes: '1MiB',
        maxRedirects: 0,
      },
      credentials: { api: { ...slot, required: true, reveal: false } },
      scratch: { maxBytes: '32MiB' },
      files: { maxBytes: '50MiB', maxCount: 10 },
    },
    sideEffect: 'write',
    idempotent: true,
    resources: { cpu: 0.5, memory: '128MiB', pids: 64, timeout: '30s', output: '256KiB', logs: '1MiB' },
  });
  expect([result.ok, faults(result)]).toEqual([true, []]);
});

it('warns of capabilities that have no effect yet, and of no others', async () => {
  const warned = async (capabilities: object) => {
    const result = await withFields({ capabilities, sideEffect: 'read' });
    if (!result.ok) throw new Error('refused');
    return result.warnings.map(({ rule, severity, check, place }) => `${check} ${severity} ${rule} ${place.path}`);
  };
  expect(await warned({ http: { rules: [rule] }, credentials: { api: slot } })).toEqual([
    'manifest warning NOT_AVAILABLE_YET /capabilities/credentials',
  ]);
  expect(await warned({ http: { rules: [rule] } })).toEqual([]);
  expect(await warned({ scratch: { maxBytes: '32MiB' }, files: { maxBytes: '1MiB' } })).toEqual([]);
});

it('fills in what is left out', async () => {
  const result = await withFields({});
  if (!result.ok) throw new Error('refused');
  expect(result.pkg.manifest).toMatchObject({
    sideEffect: 'none',
    capabilities: {},
    resources: { memory: '128MiB', pids: 64 },
  });
});

it('tells every problem at once, with field, line, column and what was meant', async () => {
  const text = `{
  "schemaVersion": 2,
  "id": "sample-node",
  "titel": "x",
  "input": [],
  "output": {},
  "capabilities": { "http": { "rules": [{ "host": "API.example.com", "methods": ["GTE"], "paths": ["v1"], "prot": 1 }] } },
  "sideEffect": "reed",
  "resources": { "cpu": 9, "pids": 1.5, "memory": "1 GiB", "timeout": "11m" }
}`;
  const findings = findingsOf(await withManifest(text));
  expect(findings.map(({ place: { path, line, column }, message }) => `${line}:${column} ${path} ${message}`)).toEqual([
    '1:1 /title title: is missing',
    '2:20 /schemaVersion schemaVersion: must be 1, not 2',
    '4:3 /titel titel: unknown field',
    '5:12 /input input: must be a JSON Schema object',
    '7:51 /capabilities/http/rules/0/host capabilities.http.rules[0].host: must be a lower-case host name, or *. and one',
    expect.stringMatching(/^7:82 \/capabilities\/http\/rules\/0\/methods\/0 .*must be one of "GET".*not "GTE"$/),
    '7:100 /capabilities/http/rules/0/paths/0 capabilities.http.rules[0].paths[0]: must start with "/"',
    '7:107 /capabilities/http/rules/0/prot capabilities.http.rules[0].prot: unknown field',
    '8:17 /sideEffect sideEffect: must be one of "none", "read", "write", not "reed"',
    '9:25 /resources/cpu resources.cpu: must be at most 4',
    '9:36 /resources/pids resources.pids: must be a whole number, not 1.5',
    '9:51 /resources/memory resources.memory: is not a size; write a number and B, KiB or MiB',
    '9:71 /resources/timeout resources.timeout: is out of range; from 100ms to 600000ms',
  ]);
  const hints = new Map(findings.map(({ place, hint }) => [place.path, hint]));
  expect(hints.get('/titel')).toBe('Did you mean title?');
  expect(hints.get('/capabilities/http/rules/0/prot')).toBe('Did you mean port?');
  expect(hints.get('/sideEffect')).toBe('Did you mean "read"?');
});

it('lists what is known where an unknown field is like nothing', async () => {
  const [finding] = findingsOf(await withFields({ capabilities: { files: { maxBytes: '1MiB', xyzzy: 1 } } }));
  expect(finding?.hint).toBe('Known here: maxBytes, maxCount.');
});

it.each([
  ['an unknown field', { x: 1 }],
  ['a field of a rule', { capabilities: { http: { rules: [{ ...rule, x: 1 }] } }, sideEffect: 'read' }],
  [
    'a field of a slot',
    { capabilities: { http: { rules: [rule] }, credentials: { api: { ...slot, x: 1 } } }, sideEffect: 'read' },
  ],
  ['a field of resources', { resources: { x: 1 } }],
])('refuses %s by name', async (_name, fields) => {
  expect((await messages(fields)).filter((message) => message.endsWith('x: unknown field'))).toHaveLength(1);
});

describe('text', () => {
  it.each([
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['with a byte order mark', '\ufeff{}'],
    ['empty', ''],
    ['followed by more', '{} {}'],
    ['with a comment', '{ // x\n}'],
    ['nested 100,000 deep', '['.repeat(100_000)],
    ['of 257 KiB', `{"x":"${'x'.repeat(257 * 1024)}"}`],
    ['with a number that overflows', '{"x":1e999}'],
    ['not an object', '[]'],
    ['null', 'null'],
  ])('refuses a manifest that is %s', async (_name, text) => {
    const result = await withManifest(text);
    expect(result.ok).toBe(false);
    expect(new Set(findingsOf(result).map((finding) => finding.rule))).toEqual(new Set(['MANIFEST_INVALID']));
  });

  it('tells where a field is there twice, however it is escaped', async () => {
    const text = JSON.stringify(goodManifest).replace('"title"', '"\\u0069d":"other",\n"title"');
    const [finding] = findingsOf(await withManifest(text));
    expect(finding).toMatchObject({ rule: 'MANIFEST_INVALID', place: { path: '/id', line: 1 } });
  });

  it('refuses __proto__ as a field anywhere, and takes it as data in a schema', async () => {
    const inject = (at: string, text: string) => JSON.stringify(goodManifest).replace(at, `${text}${at}`);
    for (const text of [
      inject('"title"', '"__proto__":{"polluted":1},'),
      inject('"title"', '"resources":{"__proto__":{"polluted":1}},'),
      inject('"title"', '"capabilities":{"credentials":{"__proto__":{"polluted":1}}},'),
    ]) {
      expect(faults(await withManifest(text)).map(({ message }) => message)).toEqual([
        expect.stringMatching(/__proto__: unknown field$/),
      ]);
    }
    const result = await withManifest(
      JSON.stringify(goodManifest).replace('"output":{}', '"output":{"properties":{"__proto__":{"type":"string"}}}'),
    );
    if (!result.ok) throw new Error('refused');
    const { properties } = result.pkg.manifest.output as { properties: object };
    expect(Object.keys(properties)).toEqual(['__proto__']);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('rules between fields', () => {
  it('refuses an id that is not the unscoped name in package.json', async () => {
    expect(await messages({ id: 'other-node' })).toEqual([
      '/id id: is "other-node", but the name in package.json says "sample-node"',
    ]);
  });

  it('tells a wrong id beside other problems', async () => {
    expect(await messages({ id: 'other-node', title: 5 })).toHaveLength(2);
  });

  it('refuses a slot with a host that no rule allows, and allows one that a rule covers', async () => {
    const capabilities = (host: string, hosts: string[]) => ({
      capabilities: { http: { rules: [{ ...rule, host }] }, credentials: { api: { ...slot, hosts } } },
      sideEffect: 'read',
    });
    expect(await messages(capabilities('api.example.com', ['api.example.com']))).toEqual([]);
    expect(await messages(capabilities('*.example.com', ['api.example.com', 'a.b.example.com']))).toEqual([]);
    expect(await messages(capabilities('*.example.com', ['example.com']))).toHaveLength(1);
    expect(await messages(capabilities('*.example.com', ['badexample.com']))).toHaveLength(1);
    expect(await messages(capabilities('api.example.com', ['api.example.com', 'other.example.com']))).toEqual([
      '/capabilities/credentials/api/hosts/1 capabilities.credentials.api.hosts[1]: no http rule allows other.example.com',
    ]);
    expect(await messages({ capabilities: { credentials: { api: slot } } })).toHaveLength(1);
  });

  it.each([
    ['/sideEffect', { capabilities: { http: { rules: [rule] } } }],
    [
      '/sideEffect',
      { capabilities: { http: { rules: [{ ...rule, methods: ['GET', 'DELETE'] }] } }, sideEffect: 'read' },
    ],
    [
      '/capabilities/http/rules/0',
      { capabilities: { http: { rules: [{ ...rule, scheme: 'http' }] } }, sideEffect: 'read' },
    ],
  ])('warns at %s of what can hardly be meant', async (path, fields) => {
    const result = await withFields(fields);
    expect(result.ok).toBe(true);
    expect(faults(result)).toMatchObject([{ severity: 'warning', place: { path } }]);
  });

  it('warns of none of that where it is said outright', async () => {
    const http = { rules: [{ ...rule, scheme: 'http', port: 443, methods: ['PUT'] }] };
    expect(await messages({ capabilities: { http }, sideEffect: 'write', idempotent: true })).toEqual([]);
  });
});

describe('rules of http', () => {
  const withRule = (over: object) =>
    messages({ capabilities: { http: { rules: [{ ...rule, ...over }] } }, sideEffect: 'write' });

  it.each(['*.com', '*.uk', '*.co.uk', '*.com.au', '*.or.jp', '*.gov.br', '*.xn--p1ai', '*'])(
    'refuses %s as a host, below which anybody can have a name',
    async (host) => {
      expect(
        (await withRule({ host })).filter((text) => text.startsWith('/capabilities/http/rules/0/host')),
      ).toHaveLength(1);
    },
  );

  it.each(['*.example.com', '*.example.co.uk', '*.co.example', '*.co.com', 'co.uk', 'example.com'])(
    'accepts %s as a host',
    async (host) => {
      expect(await withRule({ host })).toEqual([]);
    },
  );

  it('takes a WebSocket with GET alone, over https and http', async () => {
    expect(await withRule({ websocket: true })).toEqual([]);
    expect(await withRule({ websocket: true, scheme: 'http', port: 80 })).toEqual([]);
    expect(await withRule({ websocket: true, scheme: 'wss' })).toHaveLength(1);
    for (const methods of [['POST'], ['GET', 'HEAD'], ['HEAD']]) {
      expect(await withRule({ websocket: true, methods })).toEqual([
        '/capabilities/http/rules/0/methods capabilities.http.rules[0].methods: must be ["GET"] alone where websocket is true',
      ]);
      expect(await withRule({ websocket: false, methods })).toEqual([]);
    }
  });

  it.each(['/a?b=1', '/a#b', '/a\\b', '/a/**/b', '/**/b', '/./a', '/a/..', '/v*', '/a/***', '/a/*.json'])(
    'refuses the path %s, which no request matches as it looks',
    async (path) => {
      expect(await withRule({ paths: ['/a', path] })).toEqual([
        expect.stringMatching(/^\/capabilities\/http\/rules\/0\/paths\/1 /),
      ]);
    },
  );

  it.each(['/', '/**', '/*', '/a/*/b/**', '/a/%2A', '/a.b/..c', '/a%2Fb', '/ü', '/a/'])(
    'accepts the path %s',
    async (path) => {
      expect(await withRule({ paths: [path] })).toEqual([]);
    },
  );

  it.each(['10.1.2.3', '010.1.2.3', '10.1.2', '2130706433', '256.1.1.1', '0x7f.0.0.1', '*.10.1.2.3', '::1', '[::1]'])(
    'refuses %s as a host, which is an address in some spelling',
    async (host) => {
      expect(await withRule({ host })).toEqual([expect.stringMatching(/must be a lower-case host name/)]);
    },
  );
});

describe('schemas of the author', () => {
  const nested = (levels: number): object => (levels === 1 ? {} : { not: nested(levels - 1) });

  it('allows the deepest schema and refuses one level more', async () => {
    expect(told(await withFields({ output: nested(manifestLimits.schemaDepth) }))).toEqual([]);
    expect(await messages({ output: nested(manifestLimits.schemaDepth + 1) })).toEqual([
      `/output output: the schema nests 17 levels; at most 16`,
    ]);
  });

  it('allows the largest schema and refuses one byte more', async () => {
    const schema = (bytes: number) => ({ title: 'x'.repeat(bytes - '{"title":""}'.length) });
    expect(told(await withFields({ output: schema(manifestLimits.schemaBytes) }))).toEqual([]);
    expect(await messages({ output: schema(manifestLimits.schemaBytes + 1) })).toHaveLength(1);
  });
});
