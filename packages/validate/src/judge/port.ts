import type { Finding, Json } from '@glovebox/contract';

/**
 * Checks values against schemas of authors in a killable child of its own. One judge serves one run.
 */
export interface ValueJudge {
  /** Check the schemas themselves. Empty when they are fine. @throws GloveboxError `SCHEMA_TOO_COSTLY`. */
  checkSchemas(): Promise<Finding[]>;
  /** @returns what does not fit, at most 20 places; empty when all does. @throws GloveboxError `SCHEMA_TOO_COSTLY`. */
  check(which: 'input' | 'config' | 'output', valueText: string): Promise<Finding[]>;
  /** Map the positions in a stack of the bundle to the author's files. Returns it unchanged when that fails. */
  mapStack(stack: string, sourceMapText: string): Promise<string>;
  /** Kill the child. May be called at any time and again; whatever is open then, or asked after, ends with `CANCELLED`. */
  close(): void;
}

export type OpenJudge = (schemas: { input: Json; config: Json; output: Json }) => ValueJudge;
