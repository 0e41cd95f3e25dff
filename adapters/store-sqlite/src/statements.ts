import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** Prepared statements by their text, and transactions, over one connection. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** @returns how many rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** `Row` is what the caller's own SELECT names: the schema is ours and strict. */
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** Takes the write lock at its start, so that what it has read cannot change before it writes. */
  write<T>(action: () => T): T {
    return this.#transaction('BEGIN IMMEDIATE', action);
  }

  /** All reads see one state of the database. */
  read<T>(action: () => T): T {
    return this.#transaction('BEGIN', action);
  }

  close(): void {
    this.#prepared.clear();
    this.#db.close();
  }

  #transaction<T>(begin: string, action: () => T): T {
    this.#db.exec(begin);
    try {
      const result = action();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after some errors, such as a full disk.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #statement(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}
