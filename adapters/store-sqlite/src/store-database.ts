import { storeError } from './failures.ts';
import type { Arguments, OpenOptions, OperationName, Result } from './messages.ts';
import { openDatabase } from './open-database.ts';
import { operations } from './operations.ts';
import { Statements } from './statements.ts';

export interface StoreDatabase {
  perform<Name extends OperationName>(name: Name, args: Arguments<Name>): Result<Name>;
  close(): void;
}

/** The database, in the thread that calls. Every method blocks it; what they throw is a GloveboxError. */
export function openStoreDatabase(options: OpenOptions): StoreDatabase {
  const sql = new Statements(openDatabase(options));
  const typed = <T>(action: () => T): T => {
    try {
      return action();
    } catch (error) {
      throw storeError(error, options.path);
    }
  };
  return {
    perform<Name extends OperationName>(name: Name, args: Arguments<Name>) {
      // Name and arguments belong together by the type of `perform`.
      const operation = operations[name] as unknown as (sql: Statements, ...args: Arguments<Name>) => Result<Name>;
      return typed(() => operation(sql, ...args));
    },
    close: () => typed(() => sql.close()),
  };
}
