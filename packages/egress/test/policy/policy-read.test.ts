import type { GloveboxError } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { compilePolicy, readEgressPolicy } from '../../src/index.ts';
import { grant, policyOf, rule } from './kit.ts';

const reason = 'agreed';
const allowance = { id: 'inside', host: 'api.example.com', cidrs: ['10.0.0.0/8'], ports: [443], reason };

describe('an egress policy', () => {
  const problemOf = (policy: unknown): Partial<GloveboxError> => {
    try {
      readEgressPolicy(policy);
    } catch (error) {
      return error as GloveboxError;
    }
    throw new Error('was read');
  };

  it('is read with its defaults', () => {
    expect(readEgressPolicy({})).toEqual({
      schema: 'glovebox.egress-policy/1',
      allowances: [],
      denials: [],
      maximum: null,
    });
    expect(
      readEgressPolicy({
        allowances: [allowance, { ...allowance, id: 'b', host: '*.corp.example', cidrs: ['fd00::/8', '10.1.2.3/32'] }],
      }).allowances,
    ).toHaveLength(2);
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, ''],
    ['a list', [], ''],
    ['an unknown field', { allow: [] }, ''],
    ['another schema', { schema: 'x' }, '/schema'],
    [
      'a block with bits beyond its prefix',
      { allowances: [{ ...allowance, cidrs: ['10.0.0.0/8', '10.0.0.1/8'] }] },
      '/allowances/0/cidrs/1',
    ],
    ['a block that is none', { allowances: [{ ...allowance, cidrs: ['10.0.0/8'] }] }, '/allowances/0/cidrs/0'],
    ['a prefix that is too long', { denials: [{ id: 'd', cidr: '10.0.0.0/33', reason }] }, '/denials/0/cidr'],
    ['an octal address', { denials: [{ id: 'd', cidr: '010.0.0.0/8', reason }] }, '/denials/0/cidr'],
    ['a denial of nothing', { denials: [{ id: 'd', reason }] }, '/denials/0'],
    ['a host in capitals', { allowances: [{ ...allowance, host: 'API.example.com' }] }, '/allowances/0/host'],
    [
      'a host that is an address in another spelling',
      { allowances: [{ ...allowance, host: '127.1' }] },
      '/allowances/0/host',
    ],
    ['a number for a host', { denials: [{ id: 'd', host: '2130706433', reason }] }, '/denials/0/host'],
    ['a wildcard over an address', { denials: [{ id: 'd', host: '*.10.0.0.1', reason }] }, '/denials/0/host'],
    ['a host with a port', { allowances: [{ ...allowance, host: 'a.example:80' }] }, '/allowances/0/host'],
    ['no port', { allowances: [{ ...allowance, ports: [] }] }, '/allowances/0/ports'],
    ['port 0', { allowances: [{ ...allowance, ports: [0] }] }, '/allowances/0/ports/0'],
    [
      'an id that is there twice',
      { allowances: [allowance], denials: [{ id: 'inside', host: 'a.example', reason }] },
      '/denials/0/id',
    ],
    [
      'an id that looks like one of ours',
      { denials: [{ id: 'never:link-local', host: 'a.example', reason }] },
      '/denials/0/id',
    ],
    ['no reason', { denials: [{ id: 'd', host: 'a.example' }] }, '/denials/0/reason'],
  ])('is refused with %s', (_what, policy, path) => {
    expect(problemOf(policy)).toMatchObject({ code: 'EGRESS_POLICY_INVALID', place: { path } });
  });

  it('tells all problems, and is not compiled with one', () => {
    const bad = { allowances: [{ ...allowance, host: '127.1', cidrs: ['10.0.0.1/8', '::1/64'] }] };
    expect(problemOf(bad).details).toMatchObject({
      problems: [{ path: '/allowances/0/cidrs/0' }, { path: '/allowances/0/cidrs/1' }, { path: '/allowances/0/host' }],
    });
    const unchecked = { ...policyOf(), ...bad };
    expect(() => compilePolicy(grant(rule()), unchecked)).toThrow(
      expect.objectContaining({ code: 'EGRESS_POLICY_INVALID' }),
    );
    expect(() => compilePolicy(undefined, unchecked)).toThrow(
      expect.objectContaining({ code: 'EGRESS_POLICY_INVALID' }),
    );
    expect(() => compilePolicy(undefined, { ...policyOf(), allowances: [allowance] })).not.toThrow();
  });
});
