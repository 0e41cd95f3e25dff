import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { egressReasons, errorCodes } from '@glovebox/contract';
import { sourceFiles } from './boundaries.ts';
import { raisedCodes } from './error-codes/raised.ts';

const catalogue = 'packages/contract/src/error-catalogue.ts';

/** Codes that nothing raises yet, and why they are in the catalogue all the same. */
export const reserved: { [code: string]: string } = {};

/** Hold the sources against the error catalogue. @returns one line for each thing that is wrong. */
export function checkErrorCodes(root: string): string[] {
  const problems: string[] = [];
  const raised = new Set<string>();
  for (const file of sourceFiles(root)) {
    if (file === catalogue || file === 'tools/error-codes.ts') continue;
    const text = readFileSync(join(root, file), 'utf8');
    if (!isTest(file)) for (const code of raisedCodes(file, text)) raised.add(code);
    for (const code of promisedCodes(text)) {
      if (!isCode(code) && !isReason(code))
        problems.push(`${file}: a doc comment promises ${code}, which is not in the catalogue`);
    }
  }
  for (const code of errorCodes) {
    const isReserved = Object.hasOwn(reserved, code);
    if (!raised.has(code) && !isReserved)
      problems.push(`${catalogue}: nothing raises ${code}; raise it, remove it, or reserve it in tools/error-codes.ts`);
    if (raised.has(code) && isReserved)
      problems.push(`tools/error-codes.ts: ${code} is reserved, but something raises it`);
  }
  for (const code of Object.keys(reserved))
    if (!isCode(code)) problems.push(`tools/error-codes.ts: ${code} is reserved, but is not in the catalogue`);
  return problems;
}

/** Tests raise what they like. */
const isTest = (file: string): boolean => /\.test\.m?ts$|(?:^|\/)test\//.test(file);

/** The codes behind every `@throws GloveboxError` of a source text. */
export function promisedCodes(text: string): string[] {
  return [...text.matchAll(/@throws GloveboxError\b([\s\S]*?)(?=\*\/|@\w|\.\s)/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, code = '']) => code),
  );
}

function isCode(code: string): boolean {
  return (errorCodes as readonly string[]).includes(code);
}

/** Of egress: a promise may name the reason beside the code in whose details it stands. */
function isReason(code: string): boolean {
  return (egressReasons as readonly string[]).includes(code);
}

if (import.meta.main) {
  const problems = checkErrorCodes(resolve(import.meta.dirname, '..'));
  for (const problem of problems) console.log(problem);
  console.log(`error codes: ${problems.length === 0 ? 'all in order' : `${problems.length} wrong`}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
