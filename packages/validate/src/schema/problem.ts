/** What is wrong with a schema itself. `path` is a JSON Pointer in it. */
export interface SchemaProblem {
  rule: 'SCHEMA_UNSUPPORTED' | 'SCHEMA_TOO_COSTLY';
  path: string;
  message: string;
  hint?: string;
}

/** One way in which a value does not fit. Both paths are JSON Pointers. */
export interface Misfit {
  instancePath: string;
  schemaPath: string;
  message: string;
}

/** A value cannot be judged within the budget. */
export class TooCostly extends Error {}
