import { resolve } from 'node:path';
import { type AuditEvent, defaultEgressPolicy, egressPolicySchema } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import type {
  AuditLog,
  DraftStore,
  EgressLog,
  EgressPolicies,
  EgressPolicyRevision,
  ReleaseStore,
  RunStore,
} from '@glovebox/engine';
import { type Connection, connectHere, connectWorker } from './connection.ts';
import { groupAppends } from './egress-groups.ts';
import type { StoredEgressPolicy } from './egress-policies.ts';
import { createDatabaseFile } from './open-database.ts';

export interface StoreOptions {
  /**
   * Work in the calling thread, which each call then blocks until the disk has answered. Opens at once: for commands that
   * read a little and end. Otherwise SQLite has a thread of its own, so that a slow disk stalls no channel and no deadline.
   */
  inThread?: boolean;
  /** How long a transaction waits for those of other processes before `STORE_BUSY`. Default 10 s. */
  busyTimeoutMs?: number;
  /** The first entry of the audit chain, where this call makes the database; one that is there gets none. */
  created?: AuditEvent;
}

/** The ports that one database serves. */
export interface Store {
  readonly runs: RunStore;
  readonly drafts: DraftStore;
  readonly releases: ReleaseStore;
  readonly audit: AuditLog;
  readonly egressLog: EgressLog;
  readonly egressPolicies: EgressPolicies;
  /** Once what was asked for before is done. Calls that come later fail. */
  close(): Promise<void>;
}

/**
 * Open the store at `path`, making it on first use in a directory that is there, and bringing its schema up to date.
 *
 * Several processes may have it open; each transaction is short. What a method has answered is on the disk.
 *
 * @throws GloveboxError `DATA_DIR_UNUSABLE`, `DISK_FULL`, `STORE_BUSY`, `STORE_CORRUPTED`, `STORE_TOO_NEW`; its methods throw the
 * same, `ALREADY_EXISTS` for an id that is taken, and what their ports name. After `DISK_FULL` or `STORE_BUSY` nothing of the
 * call is kept and it may be repeated.
 */
export async function openStore(path: string, options: StoreOptions = {}): Promise<Store> {
  // Absolute, so that no name is taken for a URI by SQLite.
  const file = resolve(path);
  createDatabaseFile(file);
  const connect = options.inThread === true ? connectHere : connectWorker;
  const { busyTimeoutMs = 10_000, created } = options;
  const connection = await connect({ path: file, busyTimeoutMs, ...(created === undefined ? {} : { created }) });
  const egressGroups = groupAppends((records) => connection.call('appendEgress', records));
  return {
    runs: runStore(connection),
    drafts: draftStore(connection),
    releases: releaseStore(connection),
    audit: auditLog(connection),
    egressLog: egressLog(connection, egressGroups.append),
    egressPolicies: egressPolicies(connection),
    // What waits for a transaction has been asked for, too.
    close: () => egressGroups.idle()?.then(() => connection.close()) ?? connection.close(),
  };
}

function runStore(connection: Connection): RunStore {
  return {
    create: (run, attempt) => connection.call('createRun', run, attempt),
    begin: (attemptId, startedAtMs) => connection.call('beginAttempt', attemptId, startedAtMs),
    finish: (attemptId, end) => connection.call('finishAttempt', attemptId, end),
    async markLost(isDead, atMs) {
      const open = await connection.call('openAttempts');
      // An owner never changes, so a judgement stays true; `loseAttempts` skips what has ended in the meantime.
      const dead = open.filter((attempt) => isDead(attempt.owner)).map((attempt) => attempt.id);
      return dead.length === 0 ? [] : connection.call('loseAttempts', dead, atMs);
    },
    appendLogs: (attemptId, records) => connection.call('appendLogs', attemptId, records),
    list: (query) => connection.call('listRuns', query),
    get: (project, runId) => connection.call('getRun', project, runId),
    logs: (attemptId, after, limit) => connection.call('readLogs', attemptId, after, limit),
    journal: (runId) => connection.call('readJournal', runId),
  };
}

function draftStore(connection: Connection): DraftStore {
  return {
    put: (draft, event) => connection.call('putDraft', draft, event),
    get: (project, id) => connection.call('getDraft', project, id),
    list: (query) => connection.call('listDrafts', query),
    beginValidation: (begin, event) => connection.call('beginValidation', begin, event),
    endValidation: (end, event) => connection.call('endValidation', end, event),
    abandonValidation: (validation, event) => connection.call('abandonValidation', validation, event),
    async recoverValidations(isDead, atMs) {
      const dead = (await connection.call('openValidations')).filter(({ owner }) => isDead(owner));
      return dead.length === 0 ? [] : connection.call('recoverValidations', dead, atMs);
    },
  };
}

function releaseStore(connection: Connection): ReleaseStore {
  return {
    publish: (publish, event) => connection.call('publishRelease', publish, event),
    find: (project, id, select) => connection.call('findRelease', project, id, select),
    list: (query) => connection.call('listReleases', query),
    setState: (change, event) => connection.call('setReleaseState', change, event),
    setImage: (change, event) => connection.call('setReleaseImage', change, event),
  };
}

function auditLog(connection: Connection): AuditLog {
  return {
    list: (query) => connection.call('listAudit', query),
    head: () => connection.call('auditHead'),
    checkpoints: () => connection.call('listCheckpoints'),
    append: (event) => connection.call('appendAuditEvent', event),
    latestCheckpoint: () => connection.call('latestCheckpoint'),
    addCheckpoint: (checkpoint) => connection.call('addCheckpoint', checkpoint),
  };
}

function egressLog(connection: Connection, append: EgressLog['append']): EgressLog {
  return { append, list: (query) => connection.call('listEgress', query) };
}

function egressPolicies(connection: Connection): EgressPolicies {
  return {
    async get(project) {
      const stored = await connection.call('getEgressPolicy', project);
      if (stored === undefined) return { policy: defaultEgressPolicy, revision: 0, changedAt: null, changedBy: null };
      return revisionOf(project, stored);
    },
    async set(project, policy, expectedRevision, actor, atMs) {
      const { canonicalJson } = await import('@glovebox/artifact');
      const policyText = canonicalJson(policy);
      return connection.call('setEgressPolicy', { project, policyText, expectedRevision, actor, atMs });
    },
  };
}

/** What another version of the schema let in is refused and never read in part: a denial that was left out denies nothing. */
function revisionOf(project: string, { value, ...rest }: StoredEgressPolicy): EgressPolicyRevision {
  const parsed = egressPolicySchema.safeParse(value);
  if (parsed.success) return { policy: parsed.data, ...rest };
  const issue = parsed.error.issues[0];
  throw new GloveboxError('EGRESS_POLICY_INVALID', {
    message: `Revision ${rest.revision} of the egress policy of ${project} is none that this version knows: ${issue?.message}.`,
    hint: 'Set the policy again.',
    place: { path: `/${(issue?.path ?? []).map(String).join('/')}` },
  });
}
