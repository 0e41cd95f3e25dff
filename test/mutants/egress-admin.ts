import type { Mutant } from './mutant.ts';

const api = (name: string): Mutant['test'] => ({
  file: 'apps/server/src/egress.test.ts',
  name: `the egress policy ${name}`,
});
const stored = (name: string): Mutant['test'] => ({
  file: 'adapters/store-sqlite/src/egress-policies.test.ts',
  name: `the egress policy of a project ${name}`,
});
const logged = (name: string): Mutant['test'] => ({
  file: 'adapters/store-sqlite/src/egress-log.test.ts',
  name: `a request ${name}`,
});
const compared = (what: string): Mutant['test'] => ({
  file: 'packages/egress/src/policy-changes.test.ts',
  name: `a policy that has ${what} widens, and the way back narrows`,
});

/** Who may change what leaves, and what is kept of it. */
export const egressAdminMutants: readonly Mutant[] = [
  {
    file: 'packages/engine/src/egress/set-egress-policy.ts',
    find: "  if (changes.widens.length > 0 && widening !== 'confirmed') throw wider(project, changes);",
    replace: '',
    test: api('widens only where that is confirmed, and says by what'),
    why: 'a script could open the inner network to every node',
  },
  {
    file: 'apps/server/src/handlers/egress.ts',
    find: "widening: presence === 'attended' ? body.widening : 'refused',",
    replace: 'widening: body.widening,',
    test: api('is not widened by an unattended program, whatever it says is confirmed, and may be narrowed by it'),
    why: 'an agent could confirm by itself what a person is to confirm',
  },
  {
    file: 'packages/engine/src/egress/set-egress-policy.ts',
    find: 'comparePolicies(before?.policy ?? nothingAllowed, policy)',
    replace: 'comparePolicies(before?.policy ?? policy, policy)',
    test: api('that is damaged is replaced by one that is confirmed, and by no other'),
    why: 'whoever damages a policy could then set any, unasked',
  },
  {
    file: 'adapters/store-sqlite/src/egress-policies.ts',
    find: '  if (digestOf(row.policy_text) !== row.digest) {',
    replace: "  if (row.digest === '') {",
    test: stored('is refused, whole, when it is not what was set'),
    why: 'a denial that was taken out of the file would be missed by nobody',
  },
  {
    file: 'adapters/store-sqlite/src/egress-policies.ts',
    find: "    if ((before?.revision ?? 0) !== expectedRevision) return 'stale';",
    replace: "    if ((before?.revision ?? 0) < expectedRevision) return 'stale';",
    test: stored('stays as it is, unaudited, for whoever expects another revision'),
    why: 'one admin could undo what another has just denied',
  },
  {
    file: 'adapters/store-sqlite/src/egress-policies.ts',
    find: 'details: { revision, digest, previous: before?.digest ?? null },',
    replace: 'details: { revision, digest, previous: null },',
    test: stored('is what was set last, at the next revision, and each is in the audit chain with its digest'),
    why: 'nobody could tell from the chain what a change was made to',
  },
  {
    file: 'adapters/store-sqlite/src/migrations.ts',
    find: "  WHEN OLD.outcome <> 'open' OR\n",
    replace: '  WHEN\n',
    test: logged('is not given an end that is another by whoever else writes'),
    why: 'a denial could become a success on record',
  },
  {
    file: 'adapters/store-sqlite/src/egress-log.ts',
    find: 'excluded.scheme, excluded.host, excluded.port,',
    replace: 'excluded.scheme, host, excluded.port,',
    test: logged('is not ended by the end of one with another host'),
    why: 'the log could say that one host was asked and another answered',
  },
  {
    file: 'packages/egress/src/policy-changes.ts',
    find: ' || parseAddress(other) !== undefined) return false;',
    replace: ') return false;',
    test: compared('an address under a wildcard'),
    why: 'an address could be listed unasked because its text ends like a name',
  },
  {
    file: 'packages/egress/src/policy-changes.ts',
    find: '  ways.every((way)',
    replace: '  ways.slice(0, 1).every((way)',
    test: compared('a separator that is escaped'),
    why: 'a rule for an escaped path lets a server that decodes it be asked for more',
  },
  {
    file: 'packages/egress/src/policy-changes.ts',
    find: '  return byHost && byAddress;',
    replace: '  return byHost || byAddress;',
    test: compared('a denial of a host only at some addresses'),
    why: 'a denial could be narrowed to an address that nobody uses',
  },
  {
    file: 'packages/egress/src/late-dialer.ts',
    find: '    if (this.#destroyed) this.#scope.destroy();\n    this.#refuseAfterEnd();\n',
    replace: '',
    test: {
      file: 'packages/egress/src/late-dialer.test.ts',
      name: 'sends nothing for a scope that ended before the first request, or while the dialer opened',
    },
    why: 'a request could leave for an attempt that has ended',
  },
];
