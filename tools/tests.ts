import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

interface VitestReport {
  success: boolean;
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { status: string; assertionResults: unknown[] }[];
}

/**
 * Run vitest once with its usual output and count.
 *
 * A file that does not load counts as one failed test. So does a run that has none, that dies, or that says it failed
 * though each test passed (an error outside of any test): nothing that went wrong ends as zero failures.
 */
export async function runTests(
  root: string,
  config: string,
  args: readonly string[],
  output: 'shown' | 'dropped' = 'shown',
): Promise<Tally> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-tests-'));
  try {
    const file = join(dir, 'report.json');
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const argv = [
      vitest,
      'run',
      '--config',
      config,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
      ...args,
    ];
    const code = await new Promise<number | null>((resolve, reject) => {
      const child = spawn(process.execPath, argv, {
        cwd: root,
        stdio: output === 'shown' ? ['ignore', 'inherit', 'inherit'] : 'ignore',
      });
      child.once('error', reject);
      child.once('exit', resolve);
    });
    const report = readReport(file);
    if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
    const unloaded = report.testResults.filter(
      ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
    ).length;
    const tally = {
      passed: report.numPassedTests,
      failed: report.numFailedTests + unloaded,
      skipped: report.numPendingTests + report.numTodoTests,
    };
    const isClean = code === 0 && report.success && tally.passed > 0;
    return isClean || tally.failed > 0 ? tally : { ...tally, failed: 1 };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function readReport(file: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  } catch {
    // Not written or cut short: the run died, and the caller counts that as a failure.
    return undefined;
  }
}
