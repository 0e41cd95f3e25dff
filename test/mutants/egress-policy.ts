import type { Mutant } from './mutant.ts';

const source = (name: string): string => `packages/egress/src/${name}.ts`;
const target = (name: string): Mutant['test'] => ({ file: source('target.test'), name });
const host = (name: string): Mutant['test'] => ({ file: source('target-host.test'), name });
const path = (name: string): Mutant['test'] => ({ file: source('target-path.test'), name });
const special = (name: string): Mutant['test'] => ({ file: source('special-use.test'), name });
const block = (name: string): Mutant['test'] => ({ file: source('cidr.test'), name: `a block of addresses ${name}` });
const headers = (name: string): Mutant['test'] => ({ file: source('headers.test'), name });
const rules = (name: string): Mutant['test'] => ({ file: 'packages/egress/test/policy/rules.test.ts', name });
const project = (name: string): Mutant['test'] => ({ file: 'packages/egress/test/policy/project.test.ts', name });
const patch = (name: string): Mutant['test'] => ({ file: 'packages/egress/test/policy/patch.test.ts', name });
const read = (name: string): Mutant['test'] => ({
  file: 'packages/egress/test/policy/policy-read.test.ts',
  name: `an egress policy ${name}`,
});

/** What may leave, and how that is read. */
export const egressPolicyMutants: readonly Mutant[] = [
  {
    file: source('target'),
    find: '/[\\\\\\p{Z}\\p{Cc}\\p{Cf}\\p{Cs}]/u',
    replace: '/[\\p{Z}\\p{Cc}\\p{Cf}\\p{Cs}]/u',
    test: target('a target is not read from "https://example.com/a\\\\b"'),
    why: 'a backslash is a slash to some parsers and part of a name to others',
  },
  {
    file: source('target'),
    find: "  if (name === undefined || name.endsWith('.')) return undefined;",
    replace: '  if (name === undefined) return undefined;',
    test: target('a target is not read from "http://127.0.0.1./"'),
    why: 'a dot at its end makes another text of a host that is the same',
  },
  {
    file: source('target'),
    find: '/^[0-9a-fx.]+$/i.test(name)',
    replace: 'name.length > 0',
    test: host('a host that is an address (E01, E02) is refused where １２７.0.0.1 only folds into one'),
    why: 'digits that fold into an address are a name to whoever does not fold them',
  },
  {
    file: source('target'),
    find: 'isHostName(hostname) && isSameHost(name, hostname)',
    replace: 'isHostName(hostname)',
    test: host('a host in other scripts (E27) ｅxample.com is refused'),
    why: 'a name that only folds into a declared one would be taken for it',
  },
  {
    file: source('target-host'),
    find: 'host.length <= 253 && host',
    replace: 'host',
    test: target('a target has labels of up to 63 characters, hosts of up to 253 and URLs of up to 16 KiB'),
    why: 'what resolvers cut is decided on whole',
  },
  {
    file: source('target'),
    find: 'if (isAmbiguousPath(rawPath) || ',
    replace: 'if (',
    test: path('a path that servers read in more than one way is refused: /a/../b'),
    why: 'dot segments that the parser takes out would go unseen',
  },
  {
    file: source('target-path'),
    find: '    text = next;\n  }\n  return true;',
    replace: '    return false;\n  }\n  return true;',
    test: path('a path that servers read in more than one way is refused: /%2e%2e%2f'),
    why: 'a server that decodes a path would leave the one that was allowed',
  },
  {
    file: source('target-path'),
    find: "text.normalize('NFKC')",
    replace: 'text',
    test: path('a path that servers read in more than one way is refused: /．．/a'),
    why: 'full-width dots are dots to some file systems',
  },
  {
    file: source('target-path'),
    find: '(?:[;/\\\\]|$))/',
    replace: '(?:[/\\\\]|$))/',
    test: path('a path that servers read in more than one way is refused: /..;/a'),
    why: 'servers that drop params of a segment read two dots there',
  },
  {
    file: source('target-path'),
    find: '  if (/%(?![0-9a-fA-F]{2})/.test(path)) return true;\n',
    replace: '',
    test: path('a path that servers read in more than one way is refused: /%u002e'),
    why: 'an escape of another kind is a dot to some decoders',
  },
  {
    file: source('target-path'),
    find: 'if (code < 0x20 || code === 0x7f) return true;',
    replace: 'if (code === 0x7f) return true;',
    test: path('a path that servers read in more than one way is refused: /a%00'),
    why: 'an encoded NUL or line break ends a path, or a log line, further on',
  },
  {
    file: source('host-match'),
    find: "for (let dot = host.indexOf('.'); dot !== -1;",
    replace: 'for (let dot = -1, first = true; first || dot !== -1; first = false,',
    test: rules('hosts (E10) a wildcard does not allow example.com'),
    why: 'a wildcard would hold for the name itself, which may be another owner’s',
  },
  {
    file: source('host-match'),
    find: "    if (kind === 'address') return found;\n",
    replace: '',
    test: rules('hosts (E10) a wildcard means no address'),
    why: 'the numbers of an address would be taken for labels of a name',
  },
  {
    file: source('rules'),
    find: "  if (ports === undefined) return 'scheme';",
    replace: '  if (ports === undefined) return { index: 0 };',
    test: rules('scheme, port and method (E09) GET http://api.example.com/: SCHEME_NOT_DECLARED'),
    why: 'what was to be encrypted would go in clear',
  },
  {
    file: source('rules'),
    find: 'const methods = ports.get(target.port);',
    replace: 'const methods = ports.get(target.port) ?? ports.values().next().value;',
    test: rules('scheme, port and method (E09) port 6379 is not port 443'),
    why: 'other services on an allowed host could be reached',
  },
  {
    file: source('rules'),
    find: '(websocket ? paths.websockets : paths.requests)',
    replace: '(paths.requests)',
    test: rules('a WebSocket is allowed by a rule that says so, and by no other'),
    why: 'a request would become a connection that nobody looks into',
  },
  {
    file: source('path-match'),
    find: '  return ways.map((way) => ({ way, segments: all[way] }));',
    replace: '  return ways.slice(0, 1).map((way) => ({ way, segments: all[way] }));',
    test: rules('paths /*'),
    why: 'a server that takes %2F for a separator would find another path than the one allowed',
  },
  {
    file: source('path-match-table'),
    find: 'sets.every((set) => set.has(rule))',
    replace: 'sets.every((set) => set.size > 0)',
    test: rules('paths all readings match by one rule, and not each by another'),
    why: 'a path would be allowed in a reading that no one rule allows with the others',
  },
  {
    file: source('path-match-table'),
    find: "segment === '' ? undefined : at.next.get(oneSegment)",
    replace: 'at.next.get(oneSegment)',
    test: rules('paths /*'),
    why: 'an empty segment would stand for a name, and servers merge it away',
  },
  {
    file: source('policy-decide'),
    find: "  if (rules === undefined) return undeclared('HTTP_NOT_DECLARED', request, limits);",
    replace: "  if (rules === undefined) return { kind: 'allowed', rule: '', allowances: [] };",
    test: project('without rules everything is denied (E12) no grant'),
    why: 'a missing list would be taken for a list of everything',
  },
  {
    file: source('policy-decide'),
    find: '  if (denied !== undefined) return denied;\n',
    replace: '',
    test: project('denials by name hold whatever the manifest declares'),
    why: 'an admin could forbid nothing',
  },
  {
    file: source('policy-decide'),
    find: '  if (isUnlistedAddress(request, limits)) return unlistedAddress;\n',
    replace: '',
    test: project('allowances let an address be asked for by itself, where the manifest names it too (E01)'),
    why: 'an address in place of a name evades every rule on names',
  },
  {
    file: source('policy-decide'),
    find: "  if (limits.maximum?.match(request, readings).kind === 'missed') return aboveMaximum;\n",
    replace: '',
    test: project('the maximum has to be matched as well as the manifest'),
    why: 'the bound that an admin set would bound nothing',
  },
  {
    file: source('policy-decide'),
    find: '.filter(({ ports }) => ports.includes(request.target.port))',
    replace: '',
    test: project('allowances open their addresses to their name on their ports, and nothing else'),
    why: 'what an admin opened on one port would be open on all',
  },
  {
    file: source('policy-decide'),
    find: '  if (beyond !== undefined) return { ...beyond, reason, rule: null };\n',
    replace: '',
    test: patch('a patch is none where the policy denies the request all the same'),
    why: 'an approver would be asked for what is denied anyway',
  },
  {
    file: source('policy-address'),
    find: 'const never = neverAddress(address);',
    replace: 'const never = neverAddress(Uint8Array.of(1, 1, 1, 1));',
    test: project('metadata services (E21) a name that leads to 169.254.169.254 is not connected to'),
    why: 'an allowance that is too wide would hand out the credentials of the host',
  },
  {
    file: source('policy-address'),
    find: 'readings.some((reading) => isCovered(reading, cidr))',
    replace: 'isCovered(address, cidr)',
    test: project('denials by address hold for every way to reach it'),
    why: 'a denied address could be reached through IPv6',
  },
  {
    file: source('policy-address'),
    find: 'ports.includes(port) && cidrs',
    replace: 'cidrs',
    test: project('allowances open their addresses to their name on their ports, and nothing else'),
    why: 'whoever decides on another port than it connects to would reach what is private',
  },
  {
    file: source('special-use'),
    find: '  const inner = mappedIpv4(address) ?? nat64Ipv4(address);',
    replace: '  const inner = nat64Ipv4(address);',
    test: project('addresses, without an allowance (E02, E04) ::ffff:1.1.1.1 is public'),
    why: 'a spelling of an address would be judged otherwise than the address',
  },
  {
    file: source('special-use'),
    find: 'if (inner !== undefined) return specialUseOf(inner);',
    replace: 'if (inner !== undefined) return undefined;',
    test: project('addresses, without an allowance (E02, E04) ::ffff:7f00:1 is not public'),
    why: 'loopback spelled as IPv6 would be public',
  },
  {
    file: source('special-use'),
    find: 'isCovered(address, globalUnicast) ? undefined : notGlobal',
    replace: 'address.length === 16 ? undefined : notGlobal',
    test: special('special addresses are all of IPv6 beside 2000::/3, but for the IPv4 addresses in it'),
    why: 'blocks that nobody has listed yet would be public',
  },
  {
    file: source('special-use-never'),
    find: '  const readings = [address, ...embeddedIpv4(address)];',
    replace: '  const readings = [address];',
    test: special('addresses that are never allowed are 2002:a9fe:a9fe::1'),
    why: 'metadata services could be reached through a gateway that translates',
  },
  {
    file: source('cidr'),
    find: '  if (hasBitsBeyond(address, bits)) return undefined;\n',
    replace: '',
    test: block('is not read from "10.0.0.1/8"'),
    why: 'an admin who means one address would open sixteen million',
  },
  {
    file: source('cidr'),
    find: '  const mask = (0xff00 >> rest) & 0xff;',
    replace: '  const mask = (0xff00 >> (rest - 1)) & 0xff;',
    test: block('has the addresses that arithmetic says it has'),
    why: 'blocks would be twice as large as they say',
  },
  {
    file: source('policy-read'),
    find: '    .filter(({ host }) => !isPlainHost(host))',
    replace: "    .filter(({ host }) => host === '')",
    test: read('is refused with a number for a host'),
    why: 'a denial that is spelled another way than requests are would never hold',
  },
  {
    file: source('headers'),
    find: 'return /^[\\t\\x20-\\x7e\\x80-\\xff]*$/.test(value);',
    replace: 'return /^[\\s\\x20-\\x7e\\x80-\\xff]*$/.test(value);',
    test: headers('headers of a request are refused with "a\\r\\nhost: evil" in a name or a value'),
    why: 'one header could be made into two, and one request into two',
  },
  {
    file: source('headers'),
    find: "return /^\\d{1,15}$/.test(length) && headers['transfer-encoding'] === undefined;",
    replace: 'return /^\\d{1,15}$/.test(length);',
    test: headers('headers of a request say one thing about the body'),
    why: 'two readers could see two ends of one body',
  },
  {
    file: source('headers'),
    find: "name.startsWith('proxy-') || name.startsWith('glovebox-')",
    replace: "name.startsWith('proxy-')",
    test: headers(
      'headers of an answer come back without those of the connection, and none in our name or leading elsewhere',
    ),
    why: 'an origin could speak in our name',
  },
];
