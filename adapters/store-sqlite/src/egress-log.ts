import type { EgressReason, EgressRecord } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import type { EgressLog, EgressLogEntry } from '@glovebox/engine';
import type { Statements } from './statements.ts';

type ListQuery = Parameters<EgressLog['list']>[0];
type Listed = Awaited<ReturnType<EgressLog['list']>>;

/**
 * The end of a request takes the place of its decision, where that is open and of the same request: a log in which an end
 * could be told twice would tell whatever was told last.
 */
const appendSql = `INSERT INTO egress_records (project, run_id, attempt_id, seq, at, purpose, node, method, scheme, host, port, path,
    outcome, rule, reason, address, protocol, status, bytes_up, bytes_down, duration_ms, retries)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (project, attempt_id, seq) WHERE attempt_id IS NOT NULL DO UPDATE SET
    outcome = excluded.outcome, rule = excluded.rule, reason = excluded.reason, address = excluded.address,
    protocol = excluded.protocol, status = excluded.status, bytes_up = excluded.bytes_up,
    bytes_down = excluded.bytes_down, duration_ms = excluded.duration_ms, retries = excluded.retries
  WHERE outcome = 'open' AND (run_id, purpose, node, method, scheme, host, port, path)
    IS (excluded.run_id, excluded.purpose, excluded.node, excluded.method, excluded.scheme, excluded.host, excluded.port,
      excluded.path)`;

export function appendEgress(sql: Statements, entries: readonly EgressLogEntry[]): void {
  if (entries.length === 0) return;
  sql.write(() => {
    for (const { project, record } of entries) appendOne(sql, project, record);
  });
}

function appendOne(sql: Statements, project: string, record: EgressRecord): void {
  const changed = sql.run(
    appendSql,
    project,
    record.run,
    record.attempt,
    record.seq,
    record.at,
    record.purpose,
    record.node,
    record.method,
    record.scheme,
    record.host,
    record.port,
    record.path,
    record.outcome,
    record.rule,
    record.reason,
    record.address,
    record.protocol,
    record.status,
    record.bytesUp,
    record.bytesDown,
    record.durationMs,
    record.retries,
  );
  if (changed === 1) return;
  throw new GloveboxError('INTERNAL', {
    message: `request ${record.seq} of ${record.attempt} has ended, or is another one`,
  });
}

/**
 * One page along an index that ends in the number. SQLite does not know which filter leaves the fewest, and is told by a plus
 * sign which ones to leave to the others: a run has the fewest requests, then a host, then an outcome.
 * Exported so that a test can ask SQLite for its plan.
 */
export function egressStatement(query: ListQuery): { sql: string; values: (string | number)[] } {
  const filters: [column: string, value: string | undefined][] = [
    ['run_id', query.run],
    ['host', query.host],
    ['outcome', query.outcome],
  ];
  const used = filters.filter((filter): filter is [string, string] => filter[1] !== undefined);
  const clauses = used.map(([column], i) => `${i === 0 ? '' : '+'}${column} = ?`);
  const before = numberOf(query.before);
  return {
    sql: `SELECT * FROM egress_records
      WHERE ${['project = ?', ...clauses, ...(before === undefined ? [] : ['number < ?'])].join(' AND ')}
      ORDER BY number DESC LIMIT ?`,
    values: [
      query.project,
      ...used.map(([, value]) => value),
      ...(before === undefined ? [] : [before]),
      // A negative limit would mean none to SQLite.
      Math.max(0, Math.trunc(query.limit)),
    ],
  };
}

export function listEgress(sql: Statements, query: ListQuery): Listed {
  const statement = egressStatement(query);
  return sql.all<EgressRow>(statement.sql, ...statement.values).map((row) => ({
    cursor: String(row.number),
    seq: row.seq,
    at: row.at,
    purpose: row.purpose,
    run: row.run_id,
    attempt: row.attempt_id,
    node: row.node,
    method: row.method,
    scheme: row.scheme,
    host: row.host,
    port: row.port,
    path: row.path,
    outcome: row.outcome,
    rule: row.rule,
    reason: row.reason,
    address: row.address,
    protocol: row.protocol,
    status: row.status,
    bytesUp: row.bytes_up,
    bytesDown: row.bytes_down,
    durationMs: row.duration_ms,
    retries: row.retries,
  }));
}

/** A cursor that is none has nothing before it. */
function numberOf(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  return /^\d{1,15}$/.test(cursor) ? Number(cursor) : 0;
}

interface EgressRow {
  number: number;
  run_id: string | null;
  attempt_id: string | null;
  seq: number;
  at: string;
  purpose: string;
  node: string | null;
  method: string;
  scheme: string;
  host: string;
  port: number;
  path: string;
  outcome: EgressRecord['outcome'];
  rule: string | null;
  reason: EgressReason | null;
  address: string | null;
  protocol: string | null;
  status: number | null;
  bytes_up: number;
  bytes_down: number;
  duration_ms: number | null;
  retries: number;
}
