/** Marks the file as ours: `glvb`. */
export const applicationId = 0x676c7662;

/**
 * The schema, as numbered steps: step n takes a database from `user_version` n - 1 to n. A step that has shipped is never
 * edited. docs/stages/record.md tells what the tables are for.
 */
export const migrations: readonly string[] = [
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
];
