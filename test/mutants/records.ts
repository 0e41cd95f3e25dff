import type { Mutant } from './mutant.ts';

const journal = (name: string): Mutant['test'] => ({
  file: 'adapters/store-sqlite/src/journal.test.ts',
  name: `the journal, whoever writes to the file ${name}`,
});
const audit = (name: string): Mutant['test'] => ({ file: 'adapters/store-sqlite/src/audit-log.test.ts', name });
const releases = (name: string): Mutant['test'] => ({
  file: 'adapters/store-sqlite/src/release-transitions.test.ts',
  name,
});
const audited = (name: string): Mutant['test'] => ({
  file: 'packages/engine/src/releases/require-audited.test.ts',
  name: `a release ${name}`,
});
const blobs = (name: string): Mutant['test'] => ({ file: 'adapters/blobs-fs/src/blob-store.test.ts', name });

/** What is kept, and what is believed of it later. */
export const recordMutants: readonly Mutant[] = [
  {
    file: 'adapters/store-sqlite/src/migrations.ts',
    find: 'CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal BEGIN',
    replace: 'CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal WHEN 0 BEGIN',
    test: journal('refuses a change'),
    why: 'what an attempt did could be rewritten by mistake',
  },
  {
    file: 'adapters/store-sqlite/src/migrations.ts',
    find: "WHEN OLD.state NOT IN ('QUEUED', 'RUNNING') BEGIN",
    replace: "WHEN OLD.state = 'LOST' BEGIN",
    test: journal('lets no attempt leave its end state'),
    why: 'an attempt could have two ends',
  },
  {
    file: 'adapters/store-sqlite/src/migrations.ts',
    find: 'CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN',
    replace: 'CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit WHEN OLD.seq < 4 BEGIN',
    test: audit('the audit table, whoever writes to the file refuses a removal of the last one'),
    why: 'the last thing that somebody did could be taken out again',
  },
  {
    file: 'adapters/store-sqlite/src/audit-chain.ts',
    find: 'previous: head?.hash ?? auditChainStart,',
    replace: 'previous: auditChainStart,',
    test: audit('the audit chain has an entry for each transition, each with the hash of the one before'),
    why: 'without the hash of the one before nothing tells that an entry is missing',
  },
  {
    file: 'adapters/store-sqlite/src/release-transitions.ts',
    find: "      return change.state === 'revoked' ? { kind: 'unchanged', release: now } : { kind: 'revoked' };",
    replace: "      if (change.state === 'revoked') return { kind: 'unchanged', release: now };",
    test: releases('taking back a deprecation of a release that is revoked: revoked'),
    why: 'a revoked release could be made active again',
  },
  {
    file: 'adapters/store-sqlite/src/release-transitions.ts',
    find: '    if (!isSame(passed, publish.passed)) return',
    replace: "    if (publish.revision === '') return",
    test: releases('a release has what passed last, and nothing that was looked at before that'),
    why: 'another artifact could be released than the one that was looked at',
  },
  {
    file: 'adapters/store-sqlite/src/run-transitions.ts',
    find: "  if (found.state === 'revoked') {",
    replace: "  if (found.state === 'deprecated') {",
    test: releases(
      'a run by reference is refused once the release is revoked, which it may be after the caller has looked',
    ),
    why: 'what was revoked between a look and a run would still run',
  },
  {
    file: 'adapters/store-sqlite/src/run-transitions.ts',
    find: '    found.digest === release.digest &&\n',
    replace: '',
    test: releases('a run by reference is refused when it is not of that release'),
    why: 'a run could be recorded as one of a release that it is not of',
  },
  {
    file: 'packages/engine/src/releases/require-audited.ts',
    find: ' || entry.details.artifact !== release.digest)',
    replace: ')',
    test: audited('is refused where the chain released another artifact under its name'),
    why: 'whoever changes a row could have another artifact run under the name of a release',
  },
  {
    file: 'packages/engine/src/releases/require-audited.ts',
    find: "  if (revocation === undefined || release.state === 'revoked') return;",
    replace: "  if (revocation === undefined || release.state !== 'revoked') return;",
    test: audited('is refused when the chain tells that it was revoked, though its row be active'),
    why: 'whoever changes a row could make a revoked release run',
  },
  {
    file: 'packages/engine/src/releases/require-audited.ts',
    find: 'checked.success && auditEntryHash(checked.data) === checked.data.hash',
    replace: 'checked.success',
    test: audited('is refused where the entry that released it was written over'),
    why: 'an entry could be made to tell of another artifact',
  },
  {
    file: 'packages/engine/src/releases/require-class.ts',
    find: 'if (success && isAsStrong(cellClass, data.minimumClass)) return;',
    replace: 'if (!success || isAsStrong(cellClass, data.minimumClass)) return;',
    test: {
      file: 'packages/engine/src/releases/require-class.test.ts',
      name: 'takes a demand of "vm" for one that nobody meets',
    },
    why: 'permissions that cannot be read would demand nothing',
  },
  {
    file: 'packages/engine/src/ownership.ts',
    find: '  if (!names.every(isAbandoned)) return false;',
    replace: '  if (!names.some(isAbandoned)) return false;',
    test: {
      file: 'packages/engine/src/ownership.test.ts',
      name: 'a claim that cannot be read is not ours: a dead name beside one that cannot be judged',
    },
    why: 'a claim that cannot be judged would be taken over beside one of a dead process',
  },
  {
    file: 'adapters/blobs-fs/src/blob-store.ts',
    find: 'constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK',
    replace: 'constants.O_RDONLY | constants.O_NONBLOCK',
    test: blobs('what cannot be read refuses a link in the place of a blob'),
    why: 'a link in the place of a file of a run could show any file of the host',
  },
  {
    file: 'adapters/blobs-fs/src/blob-store.ts',
    find: "  if (hash.digest('hex') !== hex) throw corrupted(",
    replace: "  if (hex === '') throw corrupted(",
    test: blobs('what cannot be read never hands out all the bytes of a damaged blob'),
    why: 'files of a run that were changed later would be given out as they were written',
  },
];
