import { DatabaseSync } from 'node:sqlite';

const tables = [
  'drafts',
  'releases',
  'audit',
  'audit_checkpoints',
  'runs',
  'attempts',
  'attempt_ends',
  'journal',
  'egress_policies',
  'egress_records',
];

/** Every row of every table that a transition may touch, as one text: what changes nothing leaves it the same. */
export function allRows(path: string): string {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return JSON.stringify(tables.map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all()));
  } finally {
    db.close();
  }
}
