import type { DatabaseSync } from 'node:sqlite';
import { auditEarlierEnds } from './audit-end.ts';

/** Marks the file as ours: `glvb`. */
export const applicationId = 0x676c7662;

/** SQL, or what SQL alone cannot do. */
export type Step = string | ((db: DatabaseSync) => void);

/**
 * The schema, as numbered steps: step n takes a database from `user_version` n - 1 to n. A step that has shipped is never
 * edited. docs/stages/record.md tells what the tables are for.
 */
export const migrations: readonly Step[] = [
  `
  PRAGMA application_id = ${applicationId};

  CREATE TABLE runs (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    mode TEXT NOT NULL,
    actor TEXT NOT NULL,
    node_id TEXT NOT NULL,
    node_version TEXT NOT NULL,
    node_revision TEXT NOT NULL,
    node_title TEXT NOT NULL,
    created_ms REAL NOT NULL,
    -- The newest attempt, kept here so that a list reads one table.
    attempt_id TEXT NOT NULL,
    state TEXT NOT NULL,
    ended_ms REAL,
    error_code TEXT
  ) STRICT;
  CREATE INDEX runs_by_project ON runs (project, id);
  CREATE INDEX runs_by_node ON runs (project, node_id, id);
  CREATE INDEX runs_by_state ON runs (project, state, id);
  CREATE INDEX runs_by_node_state ON runs (project, node_id, state, id);

  -- What a run was given. Apart from the runs: up to 16 MiB each, and no list reads them.
  CREATE TABLE run_inputs (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    input_text TEXT NOT NULL,
    config_text TEXT NOT NULL,
    limits_json TEXT NOT NULL,
    capabilities_json TEXT NOT NULL
  ) STRICT;

  CREATE TABLE attempts (
    id TEXT NOT NULL PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    owner_instance TEXT NOT NULL,
    owner_boot_id TEXT NOT NULL,
    owner_pid INTEGER NOT NULL,
    owner_start_ticks TEXT NOT NULL,
    created_ms REAL NOT NULL,
    started_ms REAL,
    ended_ms REAL,
    UNIQUE (run_id, number)
  ) STRICT;
  CREATE INDEX attempts_open ON attempts (id) WHERE state IN ('QUEUED', 'RUNNING');

  CREATE TABLE attempt_ends (
    attempt_id TEXT NOT NULL PRIMARY KEY REFERENCES attempts (id) ON DELETE CASCADE,
    error_json TEXT,
    output_text TEXT,
    bundle_digest TEXT,
    image_digest TEXT,
    phases_json TEXT NOT NULL,
    peaks_json TEXT NOT NULL,
    log_bytes REAL NOT NULL,
    log_truncated INTEGER NOT NULL,
    receipt_text TEXT,
    receipt_digest TEXT
  ) STRICT;

  CREATE TABLE files (
    attempt_id TEXT NOT NULL REFERENCES attempts (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    digest TEXT NOT NULL,
    size_bytes REAL NOT NULL,
    PRIMARY KEY (attempt_id, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX files_by_digest ON files (digest);

  CREATE TABLE logs (
    attempt_id TEXT NOT NULL REFERENCES attempts (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    at_ms REAL NOT NULL,
    source TEXT NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    fields_json TEXT,
    PRIMARY KEY (attempt_id, seq)
  ) STRICT, WITHOUT ROWID;

  -- Without references: the journal outlives what it tells about.
  CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms REAL NOT NULL,
    run_id TEXT NOT NULL,
    attempt_id TEXT,
    from_state TEXT,
    to_state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_by_run ON journal (run_id, seq);

  -- Append-only: nothing is changed, removed, replaced or written in between.
  CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
  END;
  CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
  END;
  CREATE TRIGGER journal_no_replace BEFORE INSERT ON journal
  WHEN EXISTS (SELECT 1 FROM journal WHERE seq = NEW.seq) BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
  END;
  CREATE TRIGGER journal_no_gap AFTER INSERT ON journal
  WHEN NEW.seq <> 1 AND NOT EXISTS (SELECT 1 FROM journal WHERE seq = NEW.seq - 1) BEGIN
    SELECT RAISE(ABORT, 'the journal has no gaps');
  END;
  -- Each entry starts where the one before it ended.
  CREATE TRIGGER journal_chain BEFORE INSERT ON journal
  WHEN NEW.from_state IS NOT (
    SELECT to_state FROM journal WHERE run_id = NEW.run_id AND attempt_id IS NEW.attempt_id ORDER BY seq DESC LIMIT 1
  ) BEGIN
    SELECT RAISE(ABORT, 'the journal entry does not follow from the one before');
  END;

  -- An end state is final, whoever writes.
  CREATE TRIGGER attempts_end_is_final BEFORE UPDATE OF state ON attempts
  WHEN OLD.state NOT IN ('QUEUED', 'RUNNING') BEGIN
    SELECT RAISE(ABORT, 'the attempt has ended');
  END;
  `,
  `
  CREATE TABLE releases (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    version TEXT NOT NULL,
    -- Sorts as versions do; see versionKey.
    version_key TEXT NOT NULL,
    prerelease INTEGER NOT NULL CHECK (prerelease = (instr(version, '-') > 0)),
    ref TEXT NOT NULL GENERATED ALWAYS AS (project || '/' || id || '@' || version) STORED UNIQUE,
    title TEXT NOT NULL,
    digest TEXT NOT NULL CHECK (length(digest) = 71 AND digest GLOB 'sha256:*'),
    revision TEXT NOT NULL CHECK (length(revision) = 71 AND revision GLOB 'sha256:*'),
    image TEXT NOT NULL CHECK (length(image) = 71 AND image GLOB 'sha256:*'),
    permissions TEXT NOT NULL CHECK (length(permissions) = 71 AND permissions GLOB 'sha256:*'),
    state TEXT NOT NULL CHECK (state IN ('active', 'deprecated', 'revoked')),
    reason TEXT CHECK ((state = 'active') = (reason IS NULL)),
    published_by TEXT NOT NULL,
    published_ms REAL NOT NULL,
    changed_ms REAL NOT NULL,
    PRIMARY KEY (project, id, version),
    -- One digest is one release: were there two, revoking one would leave its content to be run under the other.
    UNIQUE (project, id, digest),
    -- For the reference of a released draft.
    UNIQUE (project, id, version, revision, digest)
  ) STRICT;
  CREATE UNIQUE INDEX releases_by_version ON releases (project, id, version_key DESC);

  CREATE TRIGGER releases_no_delete BEFORE DELETE ON releases BEGIN
    SELECT RAISE(ABORT, 'a release is never removed');
  END;
  -- What was released stays so, but for its state and its image.
  CREATE TRIGGER releases_are_fixed BEFORE UPDATE ON releases
  WHEN (NEW.project, NEW.id, NEW.version, NEW.version_key, NEW.title, NEW.digest, NEW.revision, NEW.permissions, NEW.published_by, NEW.published_ms)
    IS NOT (OLD.project, OLD.id, OLD.version, OLD.version_key, OLD.title, OLD.digest, OLD.revision, OLD.permissions, OLD.published_by, OLD.published_ms) BEGIN
    SELECT RAISE(ABORT, 'a release never changes');
  END;
  CREATE TRIGGER releases_revoked_is_final BEFORE UPDATE ON releases WHEN OLD.state = 'revoked' BEGIN
    SELECT RAISE(ABORT, 'the release is revoked');
  END;

  CREATE TABLE drafts (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    revision TEXT NOT NULL CHECK (length(revision) = 71 AND revision GLOB 'sha256:*'),
    version TEXT NOT NULL,
    title TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('draft', 'validating', 'passed', 'failed', 'released')),
    created_by TEXT NOT NULL,
    created_ms REAL NOT NULL,
    updated_by TEXT NOT NULL,
    updated_ms REAL NOT NULL,
    -- The validation that holds it, and whose it is.
    validation TEXT UNIQUE,
    owner_instance TEXT,
    owner_boot_id TEXT,
    owner_pid INTEGER,
    owner_start_ticks TEXT,
    -- What it passed with.
    artifact TEXT CHECK (length(artifact) = 71 AND artifact GLOB 'sha256:*'),
    image TEXT CHECK (length(image) = 71 AND image GLOB 'sha256:*'),
    permissions TEXT CHECK (length(permissions) = 71 AND permissions GLOB 'sha256:*'),
    released_version TEXT GENERATED ALWAYS AS (CASE state WHEN 'released' THEN version END) STORED,
    -- Last: up to megabytes, and no list reads it.
    report_json TEXT,
    PRIMARY KEY (project, id),
    CHECK ((state = 'validating') = (validation IS NOT NULL)),
    CHECK ((validation IS NULL) = (owner_instance IS NULL)),
    CHECK ((validation IS NULL) = (owner_boot_id IS NULL)),
    CHECK ((validation IS NULL) = (owner_pid IS NULL)),
    CHECK ((validation IS NULL) = (owner_start_ticks IS NULL)),
    CHECK ((state IN ('passed', 'released')) = (artifact IS NOT NULL)),
    CHECK ((artifact IS NULL) = (image IS NULL)),
    CHECK ((artifact IS NULL) = (permissions IS NULL)),
    CHECK ((state IN ('passed', 'failed', 'released')) = (report_json IS NOT NULL)),
    -- Released means: this version is released, of this revision, as this artifact.
    FOREIGN KEY (project, id, released_version, revision, artifact) REFERENCES releases (project, id, version, revision, digest)
  ) STRICT;

  CREATE TRIGGER drafts_move_legally BEFORE UPDATE ON drafts
  WHEN NOT (
    (NEW.project, NEW.id, NEW.created_by, NEW.created_ms) IS (OLD.project, OLD.id, OLD.created_by, OLD.created_ms) AND (
      -- Another revision.
      (NEW.revision <> OLD.revision AND OLD.state <> 'validating' AND NEW.state = 'draft')
      OR ((NEW.revision, NEW.version, NEW.title, NEW.snapshot) IS (OLD.revision, OLD.version, OLD.title, OLD.snapshot) AND (
        (OLD.state IN ('draft', 'passed', 'failed') AND NEW.state = 'validating')
        OR (OLD.state = 'validating' AND NEW.state IN ('passed', 'failed', 'draft'))
        OR (OLD.state = 'passed' AND NEW.state = 'released'
          AND (NEW.artifact, NEW.image, NEW.permissions) IS (OLD.artifact, OLD.image, OLD.permissions)))))
  ) BEGIN
    SELECT RAISE(ABORT, 'a draft does not go from there to there');
  END;
  -- A released version is that of one revision.
  CREATE TRIGGER drafts_put_no_released_version BEFORE INSERT ON drafts
  WHEN EXISTS (SELECT 1 FROM releases WHERE (project, id, version) = (NEW.project, NEW.id, NEW.version) AND revision <> NEW.revision) BEGIN
    SELECT RAISE(ABORT, 'the version is released with another revision');
  END;
  CREATE TRIGGER drafts_take_no_released_version BEFORE UPDATE ON drafts
  WHEN EXISTS (SELECT 1 FROM releases WHERE (project, id, version) = (NEW.project, NEW.id, NEW.version) AND revision <> NEW.revision) BEGIN
    SELECT RAISE(ABORT, 'the version is released with another revision');
  END;
  CREATE TRIGGER drafts_begin_as_drafts BEFORE INSERT ON drafts WHEN NEW.state <> 'draft' BEGIN
    SELECT RAISE(ABORT, 'a draft begins as a draft');
  END;

  ALTER TABLE runs ADD COLUMN release_ref TEXT REFERENCES releases (ref)
    CHECK (mode IN ('trial', 'release') AND (mode = 'release') = (release_ref IS NOT NULL));
  ALTER TABLE runs ADD COLUMN release_digest TEXT CHECK ((release_ref IS NULL) = (release_digest IS NULL));

  -- Without references: audit outlives what it tells about.
  CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    project TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    details_json TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL CHECK (length(hash) = 71 AND hash GLOB 'sha256:*')
  ) STRICT;
  CREATE INDEX audit_by_project ON audit (project);
  CREATE INDEX audit_by_action ON audit (action);
  CREATE INDEX audit_by_subject ON audit (subject);

  -- Append-only: nothing is changed, removed, replaced or written in between.
  CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
  END;
  CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
  END;
  CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq) BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
  END;
  -- Each entry is the next one, and has the hash of the one before it.
  CREATE TRIGGER audit_chain BEFORE INSERT ON audit
  WHEN NEW.previous IS NOT CASE NEW.seq
    WHEN 1 THEN 'sha256:0000000000000000000000000000000000000000000000000000000000000000'
    ELSE (SELECT hash FROM audit WHERE seq = NEW.seq - 1) END BEGIN
    SELECT RAISE(ABORT, 'the audit entry does not follow from the one before');
  END;

  CREATE TABLE audit_checkpoints (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    seq INTEGER NOT NULL REFERENCES audit (seq),
    hash TEXT NOT NULL,
    envelope_text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX audit_checkpoints_by_seq ON audit_checkpoints (seq, number);
  CREATE TRIGGER audit_checkpoints_no_update BEFORE UPDATE ON audit_checkpoints BEGIN
    SELECT RAISE(ABORT, 'audit checkpoints are append-only');
  END;
  CREATE TRIGGER audit_checkpoints_no_delete BEFORE DELETE ON audit_checkpoints BEGIN
    SELECT RAISE(ABORT, 'audit checkpoints are append-only');
  END;
  CREATE TRIGGER audit_checkpoints_of_the_chain BEFORE INSERT ON audit_checkpoints
  WHEN NOT EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq AND hash = NEW.hash) BEGIN
    SELECT RAISE(ABORT, 'the audit chain has no such entry');
  END;
  `,
  // What ended before there was an audit is audited as it is recorded, so that the one rule holds for every attempt.
  auditEarlierEnds,
  `
  -- REPLACE removes without a trigger what stands in its way. What is never removed must be in the way of nothing; a BEFORE
  -- trigger knows no rowid that SQLite is still to choose, and finds none.
  CREATE TRIGGER releases_no_replace BEFORE INSERT ON releases
  WHEN EXISTS (SELECT 1 FROM releases WHERE rowid = NEW.rowid)
    OR EXISTS (SELECT 1 FROM releases WHERE project = NEW.project AND id = NEW.id
      AND (version = NEW.version OR version_key = NEW.version_key OR digest = NEW.digest)) BEGIN
    SELECT RAISE(ABORT, 'a release is never removed');
  END;
  CREATE TRIGGER releases_keep_their_rows BEFORE UPDATE ON releases WHEN NEW.rowid <> OLD.rowid BEGIN
    SELECT RAISE(ABORT, 'a release is never removed');
  END;
  CREATE TRIGGER audit_checkpoints_no_replace BEFORE INSERT ON audit_checkpoints
  WHEN EXISTS (SELECT 1 FROM audit_checkpoints WHERE number = NEW.number) BEGIN
    SELECT RAISE(ABORT, 'audit checkpoints are append-only');
  END;
  CREATE TRIGGER attempts_no_replace BEFORE INSERT ON attempts
  WHEN EXISTS (SELECT 1 FROM attempts WHERE rowid = NEW.rowid OR id = NEW.id OR (run_id = NEW.run_id AND number = NEW.number)) BEGIN
    SELECT RAISE(ABORT, 'the attempt is there');
  END;
  CREATE TRIGGER attempts_keep_their_rows BEFORE UPDATE ON attempts
  WHEN (NEW.rowid, NEW.id, NEW.run_id, NEW.number) IS NOT (OLD.rowid, OLD.id, OLD.run_id, OLD.number) BEGIN
    SELECT RAISE(ABORT, 'an attempt is always that of its run');
  END;
  `,
  `
  -- Every revision of each project's policy: what a run was held to can be told later.
  CREATE TABLE egress_policies (
    project TEXT NOT NULL,
    revision INTEGER NOT NULL CHECK (revision >= 1),
    digest TEXT NOT NULL CHECK (length(digest) = 71 AND digest GLOB 'sha256:*'),
    changed_by TEXT NOT NULL,
    changed_ms REAL NOT NULL,
    -- Canonical; the digest is that of its bytes.
    policy_text TEXT NOT NULL,
    PRIMARY KEY (project, revision)
  ) STRICT;
  CREATE TRIGGER egress_policies_no_update BEFORE UPDATE ON egress_policies BEGIN
    SELECT RAISE(ABORT, 'a revision of a policy never changes');
  END;
  CREATE TRIGGER egress_policies_no_delete BEFORE DELETE ON egress_policies BEGIN
    SELECT RAISE(ABORT, 'a revision of a policy is never removed');
  END;
  -- Nor is it replaced: the next revision is one that is not there yet.
  CREATE TRIGGER egress_policies_follow BEFORE INSERT ON egress_policies
  WHEN NEW.revision <> 1 + coalesce((SELECT max(revision) FROM egress_policies WHERE project = NEW.project), 0)
    OR EXISTS (SELECT 1 FROM egress_policies WHERE rowid = NEW.rowid) BEGIN
    SELECT RAISE(ABORT, 'the revision does not follow from the one before');
  END;

  -- Without references: requests are told of whatever becomes of their runs.
  CREATE TABLE egress_records (
    -- In order of arrival; lists are paged by it.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    run_id TEXT,
    attempt_id TEXT,
    seq INTEGER NOT NULL CHECK (seq >= 1),
    at TEXT NOT NULL,
    purpose TEXT NOT NULL,
    node TEXT,
    method TEXT NOT NULL,
    scheme TEXT NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL,
    path TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('open', 'done', 'denied', 'over-budget', 'failed', 'aborted')),
    rule TEXT,
    reason TEXT,
    address TEXT,
    protocol TEXT,
    status INTEGER,
    bytes_up INTEGER NOT NULL CHECK (bytes_up >= 0),
    bytes_down INTEGER NOT NULL CHECK (bytes_down >= 0),
    duration_ms REAL,
    retries INTEGER NOT NULL CHECK (retries >= 0)
  ) STRICT;
  CREATE UNIQUE INDEX egress_records_by_attempt ON egress_records (project, attempt_id, seq) WHERE attempt_id IS NOT NULL;
  CREATE INDEX egress_records_by_project ON egress_records (project);
  CREATE INDEX egress_records_by_run ON egress_records (project, run_id) WHERE run_id IS NOT NULL;
  CREATE INDEX egress_records_by_host ON egress_records (project, host);
  CREATE INDEX egress_records_by_outcome ON egress_records (project, outcome);
  -- What has ended is final, and no end makes another request of what was decided on, whoever writes.
  CREATE TRIGGER egress_records_end_is_final BEFORE UPDATE ON egress_records
  WHEN OLD.outcome <> 'open' OR
    (NEW.number, NEW.project, NEW.run_id, NEW.attempt_id, NEW.seq, NEW.at, NEW.purpose, NEW.node, NEW.method, NEW.scheme, NEW.host, NEW.port, NEW.path)
    IS NOT (OLD.number, OLD.project, OLD.run_id, OLD.attempt_id, OLD.seq, OLD.at, OLD.purpose, OLD.node, OLD.method, OLD.scheme, OLD.host, OLD.port, OLD.path) BEGIN
    SELECT RAISE(ABORT, 'the request has ended, or is another one');
  END;
  `,
];
