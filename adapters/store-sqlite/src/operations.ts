import { appendAuditEvent, auditHead } from './audit-chain.ts';
import { addCheckpoint, latestCheckpoint, listAudit, listCheckpoints } from './audit-log.ts';
import { getDraft, listDrafts } from './draft-queries.ts';
import {
  abandonValidation,
  beginValidation,
  endValidation,
  openValidations,
  putDraft,
  recoverValidations,
} from './draft-transitions.ts';
import { appendEgress, listEgress } from './egress-log.ts';
import { getEgressPolicy, setEgressPolicy } from './egress-policies.ts';
import { findRelease, listReleases } from './release-queries.ts';
import { publishRelease, setReleaseImage, setReleaseState } from './release-transitions.ts';
import { getRun, listRuns, readJournal, readLogs } from './run-queries.ts';
import { appendLogs, beginAttempt, createRun, finishAttempt, loseAttempts, openAttempts } from './run-transitions.ts';

/**
 * What the database does, each one transaction: the methods of the ports, but for those with a judgement about owners. A
 * predicate cannot cross into a worker, so the caller asks who is open, judges, and sends back whom it found dead.
 */
export const operations = {
  createRun,
  beginAttempt,
  finishAttempt,
  openAttempts,
  loseAttempts,
  appendLogs,
  listRuns,
  getRun,
  readLogs,
  readJournal,

  putDraft,
  getDraft,
  listDrafts,
  beginValidation,
  endValidation,
  abandonValidation,
  openValidations,
  recoverValidations,

  publishRelease,
  findRelease,
  listReleases,
  setReleaseState,
  setReleaseImage,

  appendAuditEvent,
  listAudit,
  auditHead,
  listCheckpoints,
  latestCheckpoint,
  addCheckpoint,

  appendEgress,
  listEgress,
  getEgressPolicy,
  setEgressPolicy,
} as const;
