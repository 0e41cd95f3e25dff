import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Report {
  numPassedTests: number;
  testResults: { assertionResults: { fullName: string; status: string; failureMessages: string[] }[] }[];
}

/** A run of its own: which driver makes the cells is said once for a whole run. */
it('the attacks fail, and what is allowed works, on cells that a container engine makes', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gb-matrix-'));
  try {
    const output = join(dir, 'report.json');
    const child = spawn(
      process.execPath,
      [
        ...['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/matrix/security-docker.config.ts'],
        ...['--reporter', 'json', '--outputFile', output],
      ],
      { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const [code] = await once(child, 'exit');
    const report = JSON.parse(readFileSync(output, 'utf8')) as Report;
    const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
    const failed = tests.filter(({ status }) => status === 'failed');
    expect(failed.map(({ fullName, failureMessages }) => [fullName, failureMessages[0]?.slice(0, 500)])).toEqual([]);
    for (const { fullName } of tests.filter(({ status }) => status === 'skipped' || status === 'pending'))
      console.log(`not on a container engine: ${fullName}`);
    expect(report.numPassedTests).toBeGreaterThan(60);
    expect(code).toBe(0);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
