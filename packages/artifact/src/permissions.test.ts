import { type Manifest, manifestSchema } from '@glovebox/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { permissionsDigest, permissionsOf } from './permissions.ts';

type Rule = { host: string; methods: string[]; paths: string[]; reason?: string; port?: number; websocket?: boolean };

function manifest(over: Record<string, unknown> = {}): Manifest {
  return manifestSchema.parse({ schemaVersion: 1, id: 'my-node', title: 'Mine', input: {}, output: {}, ...over });
}

const withRules = (rules: Rule[], over: Record<string, unknown> = {}): Manifest =>
  manifest({ capabilities: { http: { rules, ...over } } });

const rules: Rule[] = [
  { host: 'api.example.com', methods: ['POST', 'GET'], paths: ['/b/**', '/a'] },
  { host: '*.example.org', methods: ['GET'], paths: ['/'] },
];

describe('the permissions digest', () => {
  it('is the same for the same permissions in another order, grouping or spelling', () => {
    const digest = permissionsDigest(withRules(rules));
    const regrouped: Rule[] = [
      { host: '*.example.org', methods: ['GET'], paths: ['/', '/'], reason: 'to look around', port: 443 },
      { host: 'api.example.com', methods: ['GET'], paths: ['/a'] },
      { host: 'api.example.com', methods: ['POST'], paths: ['/a', '/b/**'] },
      { host: 'api.example.com', methods: ['GET'], paths: ['/b/**'] },
    ];
    expect(permissionsDigest(withRules(regrouped))).toBe(digest);
    expect(
      permissionsDigest(
        manifest({ capabilities: { http: { rules } }, title: 'Other', description: 'x', input: { type: 'object' } }),
      ),
    ).toBe(digest);
    expect(permissionsDigest(withRules(rules, { maxResponseBytes: '10240KiB' }))).toBe(digest);
  });

  it('is that of the set of allowed requests, for any way to write it', () => {
    const pair = fc.record({
      host: fc.constantFrom('a.example.com', 'b.example.com'),
      method: fc.constantFrom('GET', 'POST', 'PUT'),
      path: fc.constantFrom('/', '/x', '/y'),
    });
    const seen = { equal: 0, different: 0 };
    fc.assert(
      fc.property(
        fc.array(pair, { minLength: 1, maxLength: 8 }),
        fc.array(pair, { minLength: 1, maxLength: 8 }),
        (left, right) => {
          const each = (pairs: typeof left): Rule[] =>
            pairs.map(({ host, method, path }) => ({ host, methods: [method], paths: [path] }));
          const setOf = (pairs: typeof left): string =>
            [...new Set(pairs.map(({ host, method, path }) => `${method} ${host}${path}`))].sort().join();
          const equal = setOf(left) === setOf(right);
          seen[equal ? 'equal' : 'different']++;
          expect(permissionsDigest(withRules(each(left))) === permissionsDigest(withRules(each(right)))).toBe(equal);
        },
      ),
      {
        seed: 2,
        numRuns: 200,
        examples: [
          [
            [
              { host: 'a.example.com', method: 'GET', path: '/' },
              { host: 'a.example.com', method: 'PUT', path: '/x' },
            ],
            [
              { host: 'a.example.com', method: 'PUT', path: '/x' },
              { host: 'a.example.com', method: 'GET', path: '/' },
              { host: 'a.example.com', method: 'PUT', path: '/x' },
            ],
          ],
        ],
      },
    );
    expect(seen.equal).toBeGreaterThan(0);
    expect(seen.different).toBeGreaterThan(50);
  });

  const slot = { kinds: ['bearer'], hosts: ['api.example.com'] };
  const whole = { capabilities: { http: { rules }, credentials: { api: slot }, files: { maxBytes: '1MiB' } } };
  it.each<[string, Record<string, unknown>]>([
    [
      'a host',
      {
        ...whole,
        capabilities: {
          ...whole.capabilities,
          http: { rules: [...rules, { host: 'x.example.com', methods: ['GET'], paths: ['/'] }] },
        },
      },
    ],
    [
      'a method',
      {
        ...whole,
        capabilities: { ...whole.capabilities, http: { rules: [...rules, { ...rules[1], methods: ['PUT'] }] } },
      },
    ],
    ['a budget', { ...whole, capabilities: { ...whole.capabilities, http: { rules, maxRequests: 51 } } }],
    ['a slot', { ...whole, capabilities: { ...whole.capabilities, credentials: { api: slot, other: slot } } }],
    [
      'the reveal of a slot',
      { ...whole, capabilities: { ...whole.capabilities, credentials: { api: { ...slot, reveal: true } } } },
    ],
    [
      'the host of a slot',
      {
        ...whole,
        capabilities: { ...whole.capabilities, credentials: { api: { ...slot, hosts: ['b.example.com'] } } },
      },
    ],
    ['files', { ...whole, capabilities: { ...whole.capabilities, files: { maxBytes: '1MiB', maxCount: 11 } } }],
    ['a limit', { ...whole, resources: { memory: '256MiB' } }],
    ['the side effect', { ...whole, sideEffect: 'write' }],
  ])('changes with %s', (_what, over) => {
    expect(permissionsDigest(manifest(over))).not.toBe(permissionsDigest(manifest(whole)));
  });

  describe('of WebSockets', () => {
    const plain: Rule = { host: 'api.example.com', methods: ['GET', 'POST'], paths: ['/a', '/ws'] };
    const upgrade: Rule = { host: 'api.example.com', methods: ['GET'], paths: ['/ws'], websocket: true };

    it('changes with one that is allowed, and not with one that is not', () => {
      const digest = permissionsDigest(withRules([plain]));
      expect(permissionsDigest(withRules([plain, upgrade]))).not.toBe(digest);
      expect(permissionsDigest(withRules([{ ...plain, websocket: false }]))).toBe(digest);
    });

    it('is what it was before there were any, for a manifest without', () => {
      expect(permissionsDigest(withRules(rules))).toBe(
        'sha256:f375dac99ca5fbe55d26d56d6101b77e4ad05d399d1becff1ef496e03e22c6bb',
      );
    });

    it('is the same however they are grouped, and tells them in an entry more', () => {
      const split: Rule[] = [
        { ...upgrade, paths: ['/ws', '/ws'] },
        { ...plain, methods: ['POST'], paths: ['/ws', '/a'] },
        { ...plain, methods: ['GET'], paths: ['/a'] },
      ];
      expect(permissionsDigest(withRules(split))).toBe(permissionsDigest(withRules([plain, upgrade])));
      expect(permissionsOf(withRules(split))).toMatchObject({
        http: {
          rules: [
            { scheme: 'https', host: 'api.example.com', port: 443, method: 'GET', paths: ['/a', '/ws'] },
            { scheme: 'https', host: 'api.example.com', port: 443, method: 'GET', paths: ['/ws'], websocket: true },
            { scheme: 'https', host: 'api.example.com', port: 443, method: 'POST', paths: ['/a', '/ws'] },
          ],
        },
      });
    });
  });

  it('has this form', () => {
    expect(permissionsOf(manifest(whole))).toEqual({
      schema: 'glovebox.permissions/1',
      http: {
        rules: [
          { scheme: 'https', host: '*.example.org', port: 443, method: 'GET', paths: ['/'] },
          { scheme: 'https', host: 'api.example.com', port: 443, method: 'GET', paths: ['/a', '/b/**'] },
          { scheme: 'https', host: 'api.example.com', port: 443, method: 'POST', paths: ['/a', '/b/**'] },
        ],
        maxRequests: 50,
        maxResponseBytes: 10_485_760,
        maxRedirects: 3,
      },
      slots: [{ name: 'api', kinds: ['bearer'], hosts: ['api.example.com'], reveal: false }],
      scratch: false,
      files: true,
      limits: {
        cpu: 0.5,
        memoryBytes: 134_217_728,
        pids: 64,
        timeoutMs: 30_000,
        outputBytes: 262_144,
        logBytes: 1_048_576,
        scratchBytes: 1_048_576,
        filesBytes: 1_048_576,
        filesCount: 10,
      },
      sideEffect: 'none',
      minimumClass: 'ns',
    });
  });
});
