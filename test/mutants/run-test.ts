import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Names of tests, with how each came out. */
export type Outcomes = ReadonlyMap<string, 'passed' | 'failed'>;

interface Report {
  testResults: { message: string; assertionResults: { fullName: string; status: string }[] }[];
}

/**
 * Run tests of one file in a copy of the repository.
 *
 * @returns how each came out; `hung` when they did not end in time; what was said where the file could not even be loaded.
 */
export async function runTests(
  root: string,
  file: string,
  names: readonly string[],
  timeoutMs: number,
): Promise<Outcomes | 'hung' | { broken: string }> {
  const output = join(root, 'outcomes.json');
  rmSync(output, { force: true });
  const pattern = names.map((name) => `^${patternOf(name)}$`).join('|');
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      ...['run', file, '--root', root, '--config', join(root, 'test/mutants/vitest.config.ts')],
      ...['--testNamePattern', pattern, '--reporter', 'json', '--outputFile', output],
    ],
    // A group of its own, so that what hangs is ended with all that it started.
    { cwd: root, detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString()).slice(-4000);
  });
  let hung = false;
  const timer = setTimeout(() => {
    hung = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, timeoutMs);
  await once(child, 'exit');
  clearTimeout(timer);
  if (hung) return 'hung';
  return readOutcomes(output) ?? { broken: words };
}

/** Vitest matches against names with a sign between groups, and reports them without. */
const patternOf = (name: string): string =>
  name
    .split(' ')
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join(' (?:> )?');

function readOutcomes(path: string): Outcomes | { broken: string } | undefined {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch {
    return undefined;
  }
  const found = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  if (found.length === 0) return { broken: report.testResults.map(({ message }) => message).join('\n') };
  return new Map(
    found.flatMap(({ fullName, status }) =>
      status === 'passed' || status === 'failed' ? [[fullName, status] as const] : [],
    ),
  );
}
