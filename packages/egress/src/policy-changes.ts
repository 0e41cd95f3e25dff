import type { EgressPolicy } from '@glovebox/contract';
import { parseAddress } from './address.ts';
import type { Cidr } from './api.ts';
import { isCovered, parseCidr } from './cidr.ts';
import { PathPattern, type PatternReading, ways } from './path-match.ts';

type Allowance = EgressPolicy['allowances'][number];
type Denial = EgressPolicy['denials'][number];
type MaximumRule = NonNullable<EgressPolicy['maximum']>['rules'][number];

/** What a policy changes of what may leave, a line for each, in words for people. */
export interface PolicyChanges {
  /** What is let through that was not. */
  readonly widens: readonly string[];
  readonly narrows: readonly string[];
}

/**
 * Compare what two policies let through, whatever their rules are called and in whatever order they stand. Where it takes
 * several rules of one to make up for a rule of the other, as with two halves of an address block, that may be told as a change
 * although it is none: a policy that widens is never told as one that does not.
 */
export function comparePolicies(before: EgressPolicy, after: EgressPolicy): PolicyChanges {
  return {
    widens: excess(after, before).map(({ gained }) => gained),
    narrows: excess(before, after).map(({ lost }) => lost),
  };
}

/** One thing that a policy lets through and another does not: said of whoever gains it, and of whoever loses it. */
interface Excess {
  readonly gained: string;
  readonly lost: string;
}

function excess(policy: EgressPolicy, over: EgressPolicy): Excess[] {
  // Every rule of one is held against every rule of the other, so what they say is read before: once, and not for each pair.
  const allowances = over.allowances.map(readAllowance);
  const denials = policy.denials.map(readDenial);
  return [
    ...policy.allowances.flatMap((allowance) => excessOfAllowance(readAllowance(allowance), allowances)),
    ...over.denials.flatMap((denial) => excessOverDenial(readDenial(denial), denials)),
    ...excessOverMaximum(policy.maximum, over.maximum),
  ];
}

interface ReadAllowance extends Allowance {
  /** Of `cidrs`, in their order. What cannot be read covers nothing, and nothing covers it. */
  readonly blocks: readonly (Cidr | undefined)[];
}

const readAllowance = (allowance: Allowance): ReadAllowance => ({
  ...allowance,
  blocks: allowance.cidrs.map(parseCidr),
});

interface ReadDenial extends Denial {
  readonly block: Cidr | undefined;
}

const readDenial = (denial: Denial): ReadDenial => ({
  ...denial,
  block: denial.cidr === undefined ? undefined : parseCidr(denial.cidr),
});

function excessOfAllowance(
  { id, host, cidrs, blocks, ports }: ReadAllowance,
  over: readonly ReadAllowance[],
): Excess[] {
  const others = over.filter((other) => coversHost(other.host, host));
  const more = cidrs.filter((_, at) => {
    const covering = others.filter((other) => other.blocks.some((block) => coversBlock(block, blocks[at])));
    return ports.some((port) => !covering.some((other) => other.ports.includes(port)));
  });
  if (more.length === 0) return [];
  const what = `${host} at ${more.join(', ')} on port ${ports.join(', ')} (allowance ${id})`;
  return [{ gained: `lets nodes reach ${what}`, lost: `no longer lets nodes reach ${what}` }];
}

function excessOverDenial(denial: ReadDenial, own: readonly ReadDenial[]): Excess[] {
  if (own.some((other) => coversDenial(other, denial))) return [];
  const { id, host, cidr } = denial;
  const what = `${[host, cidr].filter((part) => part !== undefined).join(' at ')} (denial ${id})`;
  return [{ gained: `no longer denies ${what}`, lost: `denies ${what}` }];
}

/** A denial of both a name and addresses denies less than one of either. */
function coversDenial(denial: ReadDenial, other: ReadDenial): boolean {
  const byHost = denial.host === undefined || (other.host !== undefined && coversHost(denial.host, other.host));
  const byAddress = denial.cidr === undefined || coversBlock(denial.block, other.block);
  return byHost && byAddress;
}

function excessOverMaximum(maximum: EgressPolicy['maximum'], over: EgressPolicy['maximum']): Excess[] {
  if (over === null) return [];
  if (maximum === null) {
    return [
      {
        gained: 'sets no maximum of what manifests may have any more',
        lost: `sets a maximum of what manifests may have, in ${over.rules.length} rules`,
      },
    ];
  }
  const others = over.rules.map(compiled);
  return maximum.rules.flatMap((rule) => {
    const { paths } = compiled(rule);
    const covering = others.filter((other) => coversRule(other, rule, paths));
    const methods = rule.methods.filter((method) => !covering.some((other) => other.rule.methods.includes(method)));
    if (methods.length === 0) return [];
    const upgrade = rule.websocket ? ', WebSocket too,' : '';
    const what = `${methods.join(', ')}${upgrade} of ${rule.scheme}://${rule.host}:${rule.port} ${rule.paths.join(' ')} (maximum ${rule.id})`;
    return [{ gained: `lets manifests have ${what}`, lost: `no longer lets manifests have ${what}` }];
  });
}

interface CompiledRule {
  readonly rule: MaximumRule;
  readonly paths: readonly PathPattern[];
}

const compiled = (rule: MaximumRule): CompiledRule => ({
  rule,
  paths: rule.paths.map((path) => new PathPattern(path)),
});

/** But for the method. A request has to match one rule in every reading of its path, so one rule has to cover all patterns. */
function coversRule({ rule, paths }: CompiledRule, other: MaximumRule, otherPaths: readonly PathPattern[]): boolean {
  return (
    rule.scheme === other.scheme &&
    rule.port === other.port &&
    (rule.websocket || !other.websocket) &&
    coversHost(rule.host, other.host) &&
    otherPaths.every((wanted) => paths.some((pattern) => coversPath(pattern, wanted)))
  );
}

/** In every way in which a path is read. */
const coversPath = (pattern: PathPattern, other: PathPattern): boolean =>
  ways.every((way) => coversReading(pattern.in(way), other.in(way)));

function coversReading({ tokens, open }: PatternReading, other: PatternReading): boolean {
  if (other.open && !open) return false;
  if (open ? other.tokens.length < tokens.length : other.tokens.length !== tokens.length) return false;
  return tokens.every((token, at) => {
    const wanted = other.tokens[at];
    // A wildcard stands for any segment but an empty one.
    return typeof token === 'string' ? token === wanted : wanted !== '';
  });
}

/** Whether every host of `other` is one of `pattern`. */
function coversHost(pattern: string, other: string): boolean {
  if (pattern === other) return true;
  // An address is no sub-domain of anything.
  if (!pattern.startsWith('*.') || parseAddress(other) !== undefined) return false;
  const parent = pattern.slice(2);
  const name = other.startsWith('*.') ? other.slice(2) : other;
  return name.endsWith(`.${parent}`) || (name === parent && name !== other);
}

/** Whether a block has all of another. What cannot be read covers nothing, and nothing covers it. */
const coversBlock = (block: Cidr | undefined, inner: Cidr | undefined): boolean =>
  block !== undefined && inner !== undefined && block.bits <= inner.bits && isCovered(inner.address, block);
