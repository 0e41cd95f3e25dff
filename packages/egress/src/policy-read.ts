import { type EgressPolicy, egressPolicySchema, GloveboxError } from '@glovebox/contract';
import { parseCidr } from './cidr.ts';
import { parseTarget } from './target.ts';

/** Problems that an error lists; the first is the one that it names. */
const maxProblems = 20;

interface PolicyProblem {
  /** JSON Pointer in the policy. */
  readonly path: string;
  readonly message: string;
}

/**
 * Read an egress policy: schema, and what a schema cannot see — blocks of addresses on their bytes, hosts as the URL parser
 * writes them, ids that are there once. Defaults are filled in.
 *
 * @throws GloveboxError `EGRESS_POLICY_INVALID` with the place of the first problem, and all of them in `details.problems`.
 */
export function readEgressPolicy(unsafePolicy: unknown): EgressPolicy {
  const parsed = egressPolicySchema.safeParse(unsafePolicy);
  if (!parsed.success) {
    throw invalid(parsed.error.issues.map(({ path, message }) => ({ path: pointer(path), message })));
  }
  checkEgressPolicy(parsed.data);
  return parsed.data;
}

/** @throws GloveboxError `EGRESS_POLICY_INVALID`, as `readEgressPolicy` does. */
export function checkEgressPolicy(policy: EgressPolicy): void {
  const problems = [...blockProblems(policy), ...hostProblems(policy), ...idProblems(policy)];
  if (problems.length > 0) throw invalid(problems);
}

function blockProblems({ allowances, denials }: EgressPolicy): PolicyProblem[] {
  const blocks = [
    ...allowances.flatMap(({ cidrs }, at) => cidrs.map((cidr, i) => ({ cidr, path: `/allowances/${at}/cidrs/${i}` }))),
    ...denials.flatMap(({ cidr }, at) => (cidr === undefined ? [] : [{ cidr, path: `/denials/${at}/cidr` }])),
  ];
  return blocks
    .filter(({ cidr }) => parseCidr(cidr) === undefined)
    .map(({ cidr, path }) => ({
      path,
      message: `${cidr} is no block of addresses: an address, a prefix length, and no bits set beyond it`,
    }));
}

function hostProblems({ allowances, denials, maximum }: EgressPolicy): PolicyProblem[] {
  const hosts = [
    ...allowances.map(({ host }, at) => ({ host, path: `/allowances/${at}/host` })),
    ...denials.flatMap(({ host }, at) => (host === undefined ? [] : [{ host, path: `/denials/${at}/host` }])),
    ...(maximum?.rules ?? []).map(({ host }, at) => ({ host, path: `/maximum/rules/${at}/host` })),
  ];
  return hosts
    .filter(({ host }) => !isPlainHost(host))
    .map(({ host, path }) => ({ path, message: `${host} is not a host as a URL has it, such as api.example.com` }));
}

/** What the URL parser leaves as it is, so that it can ever be equal to the host of a request. */
function isPlainHost(pattern: string): boolean {
  const isWildcard = pattern.startsWith('*.');
  const name = isWildcard ? pattern.slice(2) : pattern;
  const read = parseTarget(`https://${name}/`);
  if (read.kind !== 'target' || read.target.host !== name) return false;
  return !isWildcard || read.target.literal === undefined;
}

/** Records and denials name a rule by its id. */
function idProblems({ allowances, denials, maximum }: EgressPolicy): PolicyProblem[] {
  const ids = [
    ...allowances.map(({ id }, at) => ({ id, path: `/allowances/${at}/id` })),
    ...denials.map(({ id }, at) => ({ id, path: `/denials/${at}/id` })),
    ...(maximum?.rules ?? []).map(({ id }, at) => ({ id, path: `/maximum/rules/${at}/id` })),
  ];
  const seen = new Set<string>();
  return ids.flatMap(({ id, path }) => {
    if (!seen.has(id)) {
      seen.add(id);
      return [];
    }
    return [{ path, message: `the id ${id} is there twice` }];
  });
}

function invalid(problems: readonly PolicyProblem[]): GloveboxError {
  const [{ path, message }] = problems as [PolicyProblem];
  return new GloveboxError('EGRESS_POLICY_INVALID', {
    message: `The egress policy is not valid at ${path === '' ? 'its top' : path}: ${message}.`,
    place: { path },
    details: { problems: problems.slice(0, maxProblems).map((problem) => ({ ...problem })) },
  });
}

const pointer = (path: readonly PropertyKey[]): string =>
  path.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
