import type { NodeSource } from './node-package.ts';

/**
 * What came of each attempt, by its name: the code or name of what was thrown, or `{ got }` with the value. A value that
 * JSON has not comes as text.
 */
export type Outcomes = Record<string, string | { got: unknown }>;

/**
 * A node that makes attempts one after the other, each the body of an async function with `ctx`, `fs` (node:fs) and
 * `builtin` (a name that the bundler cannot see through) in scope. An attempt that throws is over; the next one is made.
 *
 * @param top imports and helpers before the handler.
 */
export function attempting(attempts: Readonly<Record<string, string>>, top = ''): NodeSource {
  const calls = Object.entries(attempts).map(
    ([name, code]) => `  outcomes[${JSON.stringify(name)}] = await attempt(async () => {\n${code}\n  });`,
  );
  return {
    top: `import fs from 'node:fs';
const builtin = (name) => process.getBuiltinModule('node:' + name);
const tell = (value) => { const text = JSON.stringify(value); return text === undefined ? String(value) : JSON.parse(text); };
const attempt = async (action) => {
  try { return { got: tell(await action()) }; } catch (thrown) { return String(thrown?.code ?? thrown?.name ?? thrown); }
};
${top}`,
    body: `  const outcomes = {};\n${calls.join('\n')}\n  return outcomes;`,
  };
}

/** Names of the attempts that threw nothing, and what they gave. A file that reads as empty gave nothing: a cover is over it. */
export function gains(outcomes: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(outcomes as Outcomes).flatMap(([name, outcome]) =>
      typeof outcome === 'string' || isEmpty(outcome.got) ? [] : [[name, outcome.got]],
    ),
  );
}

const isEmpty = (got: unknown): boolean => JSON.stringify(got) === JSON.stringify(Buffer.alloc(0));
