import { describe, expect, it } from 'vitest';
import { type Allowance, compilePolicy, type Decision } from '../../src/index.ts';
import { decideOn, grant, outcomeOf, policyFor, policyOf, rule, verdictOn } from './kit.ts';

const reason = 'agreed';
const allowance = { id: 'inside', host: 'api.example.com', cidrs: ['10.0.0.0/8'], ports: [443], reason };

const allowancesOf = (decision: Decision): readonly Allowance[] =>
  decision.kind === 'allowed' ? decision.allowances : [];

describe('without rules everything is denied', () => {
  it.each([
    ['no grant', undefined, 'HTTP_NOT_DECLARED'],
    ['no rule', [], 'HOST_NOT_DECLARED'],
    ['an empty host', [rule({ host: '' })], 'HOST_NOT_DECLARED'],
    ['a blank host', [rule({ host: ' ' })], 'HOST_NOT_DECLARED'],
    ['a star for a host', [rule({ host: '*' })], 'HOST_NOT_DECLARED'],
    ['a star and a dot', [rule({ host: '*.' })], 'HOST_NOT_DECLARED'],
    ['a host in capitals', [rule({ host: 'API.EXAMPLE.COM' })], 'HOST_NOT_DECLARED'],
    ['no method', [rule({ methods: [] })], 'HOST_NOT_DECLARED'],
    ['no path', [rule({ paths: [] })], 'PATH_NOT_DECLARED'],
    ['an empty path', [rule({ paths: [''] })], 'PATH_NOT_DECLARED'],
  ] as const)('%s', (_what, rules, outcome) => {
    const policy = compilePolicy(rules && grant(...rules), policyOf());
    for (const url of ['https://api.example.com/', 'https://api.example.com/a', 'https://com/', 'https://a.com/']) {
      const told = outcomeOf(policy, 'GET', url);
      expect(told).not.toBe('allowed');
      if (url.includes('api.')) expect(told).toBe(outcome);
    }
    expect(outcomeOf(policyFor(rule()), 'GET', 'https://api.example.com/')).toBe('allowed');
  });

  it('an empty maximum allows nothing, and none sets no bound', () => {
    const url = 'https://api.example.com/';
    expect(outcomeOf(compilePolicy(grant(rule()), policyOf({ maximum: { rules: [] } })), 'GET', url)).toBe(
      'ABOVE_POLICY_MAXIMUM',
    );
    expect(outcomeOf(compilePolicy(grant(rule()), policyOf({ maximum: null })), 'GET', url)).toBe('allowed');
  });
});

describe('denials', () => {
  const policy = compilePolicy(
    grant(rule(), rule({ host: '*.example.com' })),
    policyOf({
      denials: [
        { id: 'no-bad', host: 'bad.example.com', reason },
        { id: 'no-below', host: '*.worse.example.com', reason },
        { id: 'no-block', cidr: '93.184.0.0/16', reason },
        { id: 'no-both', host: 'api.example.com', cidr: '1.1.1.0/24', reason },
      ],
    }),
  );

  it('by name hold whatever the manifest declares', () => {
    expect(decideOn(policy, 'GET', 'https://bad.example.com/')).toEqual({
      kind: 'denied',
      reason: 'DENIED_BY_POLICY',
      rule: 'no-bad',
      patch: null,
      approver: 'admin',
    });
    expect(decideOn(policy, 'GET', 'https://a.worse.example.com/')).toMatchObject({ rule: 'no-below' });
    for (const host of ['worse.example.com', 'notbad.example.com', 'a.bad.example.com', 'api.example.com']) {
      expect(outcomeOf(policy, 'GET', `https://${host}/`)).toBe('allowed');
    }
  });

  it('by address hold for every way to reach it', () => {
    for (const address of ['93.184.1.1', '::ffff:93.184.1.1', '64:ff9b::93.184.1.1', '2002:5db8:101::1']) {
      expect(verdictOn(policy, address)).toBe('DENIED_BY_POLICY');
    }
    for (const address of ['93.185.1.1', '::ffff:93.185.1.1', '64:ff9b::93.185.1.1'])
      expect(verdictOn(policy, address)).toBe('allowed');
  });

  it('by both hold where both match', () => {
    expect(verdictOn(policy, '1.1.1.1')).toBe('DENIED_BY_POLICY');
    expect(verdictOn(policy, '1.1.1.1', { host: 'b.example.com' })).toBe('allowed');
    expect(verdictOn(policy, '1.1.2.1')).toBe('allowed');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/')).toBe('allowed');
  });

  it('win over allowances', () => {
    const both = compilePolicy(
      grant(rule()),
      policyOf({ allowances: [allowance], denials: [{ id: 'not-there', cidr: '10.1.0.0/16', reason }] }),
    );
    const allowances = allowancesOf(decideOn(both, 'GET', 'https://api.example.com/'));
    expect(verdictOn(both, '10.1.0.1', { allowances })).toBe('DENIED_BY_POLICY');
    expect(verdictOn(both, '10.2.0.1', { allowances })).toBe('allowed');
  });
});

describe('the maximum', () => {
  const maximum = { rules: [{ ...rule({ methods: ['GET'], paths: ['/v1/**'] }), id: 'most' }] };
  const policy = compilePolicy(grant(rule({ methods: ['GET', 'POST'] })), policyOf({ maximum }));

  it('has to be matched as well as the manifest', () => {
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/v1/x')).toBe('allowed');
    expect(decideOn(policy, 'GET', 'https://api.example.com/v2')).toMatchObject({
      reason: 'ABOVE_POLICY_MAXIMUM',
      patch: null,
      approver: 'admin',
    });
    expect(outcomeOf(policy, 'POST', 'https://api.example.com/v1/x')).toBe('ABOVE_POLICY_MAXIMUM');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/v1/x', 'websocket')).toBe('WEBSOCKET_NOT_DECLARED');
  });

  it('grants nothing by itself', () => {
    const narrow = compilePolicy(grant(rule({ paths: ['/v1/a'] })), policyOf({ maximum }));
    expect(outcomeOf(narrow, 'GET', 'https://api.example.com/v1/a')).toBe('allowed');
    expect(outcomeOf(narrow, 'GET', 'https://api.example.com/v1/b')).toBe('PATH_NOT_DECLARED');
  });
});

describe('allowances', () => {
  const policy = compilePolicy(
    grant(rule(), rule({ port: 8443 }), rule({ host: 'other.example.com' })),
    policyOf({ allowances: [allowance] }),
  );
  const at = (url: string) => allowancesOf(decideOn(policy, 'GET', url));

  it('open their addresses to their name on their ports, and nothing else', () => {
    const allowances = at('https://api.example.com/');
    expect(allowances.map(({ id }) => id)).toEqual(['inside']);
    expect(verdictOn(policy, '10.1.2.3', { allowances })).toBe('allowed');
    expect(verdictOn(policy, '::ffff:10.1.2.3', { allowances })).toBe('allowed');
    expect(verdictOn(policy, '11.1.2.3', { allowances })).toBe('allowed');
    expect(verdictOn(policy, '10.1.2.3', { allowances, port: 8443 })).toBe('ADDRESS_NOT_PUBLIC');
    for (const address of [
      '192.168.0.1',
      '127.0.0.1',
      '::1',
      '64:ff9b::10.1.2.3',
      '2002:a01:203::1',
      '::10.1.2.3',
      'fd00::1',
    ]) {
      expect(verdictOn(policy, address, { allowances })).toBe('ADDRESS_NOT_PUBLIC');
    }
    expect(at('https://api.example.com:8443/')).toEqual([]);
    expect(at('https://other.example.com/')).toEqual([]);
    expect(
      verdictOn(policy, '10.1.2.3', { host: 'other.example.com', allowances: at('https://other.example.com/') }),
    ).toBe('ADDRESS_NOT_PUBLIC');
  });

  it('grant no request by themselves', () => {
    expect(
      outcomeOf(compilePolicy(grant(), policyOf({ allowances: [allowance] })), 'GET', 'https://api.example.com/'),
    ).toBe('HOST_NOT_DECLARED');
  });

  it('let an address be asked for by itself, where a rule names it too', () => {
    const listed = { ...allowance, host: '10.1.2.3' };
    const url = 'https://10.1.2.3/';
    const byBoth = compilePolicy(grant(rule({ host: '10.1.2.3' })), policyOf({ allowances: [listed] }));
    for (const spelling of ['10.1.2.3', '167838211', '0xa.1.2.3', '012.1.515', '0x0A010203']) {
      const decision = decideOn(byBoth, 'GET', `https://${spelling}/`);
      expect(decision.kind).toBe('allowed');
      expect(verdictOn(byBoth, '10.1.2.3', { host: '10.1.2.3', allowances: allowancesOf(decision) })).toBe('allowed');
    }
    expect(decideOn(policyFor(rule({ host: '10.1.2.3' })), 'GET', url)).toMatchObject({
      reason: 'HOST_NOT_DECLARED',
      patch: null,
      approver: 'admin',
    });
    expect(decideOn(compilePolicy(grant(rule()), policyOf({ allowances: [listed] })), 'GET', url)).toMatchObject({
      reason: 'HOST_NOT_DECLARED',
      patch: null,
      approver: 'nobody',
    });
    expect(outcomeOf(byBoth, 'GET', 'https://10.1.2.4/')).toBe('HOST_NOT_DECLARED');
    expect(outcomeOf(byBoth, 'GET', 'https://[::ffff:10.1.2.3]/')).toBe('HOST_NOT_DECLARED');
    expect(outcomeOf(policyFor(rule({ host: '8.8.8.8' })), 'GET', 'https://8.8.8.8/')).toBe('HOST_NOT_DECLARED');
  });

  it('let a public address be asked for by itself on their ports, and on no other', () => {
    const allowances = [{ ...allowance, host: '8.8.8.8', cidrs: ['8.8.8.8/32'], ports: [443] }];
    const rules = [rule({ host: '8.8.8.8' }), rule({ host: '8.8.8.8', port: 8443 })];
    const policy = compilePolicy(grant(...rules), policyOf({ allowances }));
    expect(outcomeOf(policy, 'GET', 'https://8.8.8.8/')).toBe('allowed');
    expect(outcomeOf(policy, 'GET', 'https://8.8.8.8:8443/')).toBe('HOST_NOT_DECLARED');
  });
});

describe('addresses, without an allowance', () => {
  const policy = policyFor(rule());
  it.each([
    ...[
      '127.0.0.1',
      '127.255.255.254',
      '10.0.0.1',
      '172.16.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '198.18.0.1',
      '192.0.2.1',
      '203.0.113.1',
    ],
    ...[
      '::1',
      'fd00::1',
      'fec0::1',
      '2001:db8::1',
      '2002:808:808::1',
      '2001:0:808:808::f7f7:f7f7',
      '64:ff9b:1::1',
      '100::1',
      '5f00::1',
      '3fff::1',
    ],
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '64:ff9b::127.0.0.1', '::127.0.0.1'],
  ])('%s is not public', (address) => {
    expect(verdictOn(policy, address)).toBe('ADDRESS_NOT_PUBLIC');
  });

  it.each(['1.1.1.1', '::ffff:1.1.1.1', '64:ff9b::1.1.1.1', '2606:4700::1111'])('%s is public', (address) => {
    expect(verdictOn(policy, address)).toBe('allowed');
  });

  it('a refusal tells which row of the table it is by, and why', () => {
    expect(policy.judgeAddress({ host: 'api.example.com', port: 443 }, Uint8Array.of(127, 0, 0, 1), [])).toEqual({
      kind: 'refused',
      reason: 'ADDRESS_NOT_PUBLIC',
      rule: 'special:loopback',
      why: '127.0.0.1 is loopback (RFC 1122)',
    });
    expect(policy.judgeAddress({ host: 'api.example.com', port: 443 }, new Uint8Array(5), [])).toMatchObject({
      reason: 'ADDRESS_NEVER_ALLOWED',
    });
  });
});

describe('metadata services', () => {
  const everything = compilePolicy(
    grant(
      ...[
        'metadata.google.internal',
        'metadata',
        'instance-data',
        '169.254.169.254',
        '100.100.100.200',
        'api.example.com',
      ].map((host) => rule({ host, scheme: 'http', port: 80 })),
    ),
    policyOf({
      allowances: [
        'metadata.google.internal',
        'metadata',
        'instance-data',
        '169.254.169.254',
        '100.100.100.200',
        'api.example.com',
      ].map((host, at) => ({
        id: `a${at}`,
        host,
        cidrs: ['0.0.0.0/0', '::/0', '169.254.169.254/32', 'fd00::/8'],
        ports: [80],
        reason,
      })),
    }),
  );
  const allowances = allowancesOf(decideOn(everything, 'GET', 'http://api.example.com/'));

  it.each([
    'metadata.google.internal',
    'METADATA.google.internal',
    'metadata',
    'instance-data',
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '100.100.100.200',
    '[fd00:ec2::254]',
    '[::ffff:a9fe:a9fe]',
  ])('%s is never asked for, though an admin allowed it by mistake', (host) => {
    expect(decideOn(everything, 'GET', `http://${host}/latest/meta-data/`)).toMatchObject({
      reason: 'ADDRESS_NEVER_ALLOWED',
      rule: expect.stringMatching(/^never:/),
      patch: null,
      approver: 'nobody',
    });
  });

  it.each([
    ...[
      '169.254.169.254',
      'fd00:ec2::254',
      '100.100.100.200',
      '168.63.129.16',
      '192.0.0.192',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
    ],
    ...[
      '2002:a9fe:a9fe::',
      '169.254.170.2',
      'fe80::1',
      '0.0.0.0',
      '::',
      '255.255.255.255',
      '224.0.0.1',
      'ff02::1',
      '240.0.0.1',
      '0.0.0.1',
    ],
  ])('a name that leads to %s is not connected to', (address) => {
    expect(verdictOn(everything, address, { port: 80, allowances })).toBe('ADDRESS_NEVER_ALLOWED');
  });

  it('other addresses are, by the same allowance', () => {
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fd00::1', '100.100.100.201']) {
      expect(verdictOn(everything, address, { port: 80, allowances })).toBe('allowed');
    }
  });
});
