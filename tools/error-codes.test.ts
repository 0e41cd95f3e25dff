import { describe, expect, it } from 'vitest';
import { raisedCodes } from './error-codes/raised.ts';
import { promisedCodes } from './error-codes.ts';

it('reads every code that a doc comment promises, over lines and in any order of words', () => {
  const text = `
    /**
     * Takes it.
     * @throws GloveboxError \`NOT_FOUND\`, \`DISK_FULL\` (checked
     *   as it streams) or \`BLOB_CORRUPTED\`. Nothing is left then, see \`OTHER_THING\`.
     * @returns \`NOT_PROMISED\`
     */
    /** @throws GloveboxError \`STORE_BUSY\` */`;
  expect(promisedCodes(text)).toEqual(['NOT_FOUND', 'DISK_FULL', 'BLOB_CORRUPTED', 'STORE_BUSY']);
});

it('takes no other code in backticks for a promise', () => {
  expect(promisedCodes('/** `CANCELLED` is a state. @throws TypeError when `EINVAL`. */')).toEqual([]);
});

describe('a code', () => {
  const raisedBy = (text: string): string[] => [...raisedCodes('file.ts', text)].sort();

  it.each([
    "throw new GloveboxError('A', { message: 'M' })",
    "throw new GloveboxError(full ? 'A' : known ?? 'A')",
    "findings.error('A', 'text')",
    "fail({ code: 'A' })",
    "const finding = { rule: big ? 'A' : given, message }",
    "const code: ErrorCode = 'A'",
    "const rest: Readonly<Record<string, ErrorCode>> = { x: 'A' }",
    "const kinds = { x: ['A'] } as const satisfies Record<string, ErrorCode[]>",
    "const kind = { codes: { unreadable: 'A' } }",
    "class Check { rule: ErrorCode = 'A' }",
    "const refuse = (path, rule = 'A') => path",
    "function codeOf(): ErrorCode | undefined { if (x) { return y ? 'A' : undefined } }",
    "const codeOf = (): ErrorCode => 'A'",
  ])('is raised by %s', (text) => expect(raisedBy(text)).toContain('A'));

  it.each([
    "if (error.code === 'A') return",
    "switch (code) { case 'A': break }",
    "if (GloveboxError.is(error, 'A')) throw error",
    "const known = new Set<ErrorCode>(['A'])",
    "const retries = ['A'].includes(code)",
    "type Blame = 'A' | 'B'; let x: { code: 'A' }",
    "const states = { A: 'A' }; const name = 'A'",
    "const codeOf = (): ErrorCode => (other === 'A' ? given : given)",
    "const make = (): ErrorCode => { const at = () => { return 'A' }; return given }",
    "throw new TypeError('A')",
  ])('is not raised by %s', (text) => expect(raisedBy(text)).not.toContain('A'));
});
