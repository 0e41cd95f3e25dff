import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Digest } from '@glovebox/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { BareBuilder, builderProgram } from '../../../../test/support/bare-builder.ts';
import { checkTypes } from './check-types.ts';

const image = `sha256:${'0'.repeat(64)}` as Digest;
const scratch = mkdtempSync(join(tmpdir(), 'check-types-'));
const program = builderProgram(scratch);
afterAll(() => rmSync(scratch, { recursive: true }));

/** A builder that becomes a shell script in place of a type checker. */
async function checked(script: string, deadlineMs = 20_000) {
  const tool = join(scratch, `tool-${Math.random()}`);
  writeFileSync(tool, `#!/bin/sh\n${script}\n`);
  chmodSync(tool, 0o755);
  const driver = new BareBuilder({ program, esbuild: tool });
  try {
    const pkg = { files: new Map([['src/index.ts', Buffer.from('1')]]), dependencies: [] };
    const outcome = await checkTypes({ pkg, tarballs: [] }, { driver, cellClass: 'ns', image, deadlineMs });
    return { ...outcome, end: driver.lastEnd };
  } finally {
    driver.remove();
  }
}

const error = 'tmp/src-tree/src/index.ts(1,2): error TS1: no.';
const foreign = 'tmp/src-tree/node_modules/a/index.d.ts(1,2): error TS1: no.';
/** What shows that types were checked; the quotes are those of a shell. */
const reached = `echo "tmp/reached.mts(1,14): error TS2322: Type 'number' is not assignable to type 'string'."`;

describe('the verdict of a type checker', () => {
  it('is a pass when it has found what it had to find, and no more', async () => {
    expect(await checked(`${reached}; exit 2`)).toMatchObject({ state: 'passed', findings: [] });
  });

  it('is a pass when all else that it tells is about declarations of packages', async () => {
    expect(await checked(`echo '${foreign}'; ${reached}; exit 1`)).toMatchObject({ state: 'passed', findings: [] });
    expect(await checked(`echo '${foreign}'; ${reached}; echo '${error}'; exit 1`)).toMatchObject({
      findings: [{ place: { file: 'src/index.ts' } }],
    });
  });

  it('is about the package of which a declaration kept it from checking types', async () => {
    expect(await checked(`echo '${foreign}'; exit 2`)).toMatchObject({
      state: 'failed',
      findings: [{ rule: 'TYPES_FAILED', place: { file: 'node_modules/a' } }],
    });
  });

  it('is what it reports when it ends with another code', async () => {
    expect(await checked(`echo '${error}'; exit 2`)).toMatchObject({
      state: 'failed',
      findings: [{ rule: 'TYPES_FAILED', message: 'TS1: no.', place: { file: 'src/index.ts', line: 1, column: 2 } }],
    });
  });

  it.each([
    ['reports an error and ends with 0', `echo '${error}'`],
    ['prints something and ends with 0', 'echo hello'],
    ['prints a blank and ends with 0', "printf '\\n'"],
    ['says nothing and ends with 0', 'exit 0'],
    ['says nothing and ends with 1', 'exit 1'],
    ['has found what it had to and ends with 0', reached],
    ['has found what it had to and prints more', `${reached}; echo hello; exit 2`],
    ['is killed after it has found what it had to', `${reached}; kill -9 $$`],
    ['prints what cannot be read', "echo 'panic: runtime error' >&2; echo '???'; exit 2"],
    [
      'breaks off after it has told of packages',
      `echo '${foreign}'; ${reached}; echo 'panic: runtime error' >&2; exit 2`,
    ],
    ['tells of packages and more', `echo '${foreign}'; ${reached}; echo hello; exit 1`],
    ['tells of packages and ends with 0', `echo '${foreign}'`],
    ['is killed after it has told of packages', `echo '${foreign}'; kill -9 $$`],
    ['is killed', 'kill -9 $$'],
    ['is killed after it has reported', `echo '${error}'; kill -9 $$`],
    ['closes its output and goes on', 'exec >/dev/null; exec sleep 100'],
    ['reports without end', `yes '${error}' | head -c 20000000; exit 1`],
  ])('is no pass when it %s', async (_, script) => {
    const { state, findings } = await checked(script);
    expect(state).toBe('failed');
    expect(findings).toMatchObject([{ rule: 'TYPES_FAILED', severity: 'error' }]);
  });

  it('says what a type checker that broke off has printed', async () => {
    const { findings } = await checked("echo 'panic: runtime error' >&2; exit 2");
    expect(findings[0]?.message).toBe('The type checker gave no verdict (exit code 2): panic: runtime error');
  });

  it('is that of its time, when that is up', async () => {
    const { findings, end } = await checked(`echo '${error}'; exec sleep 100`, 1500);
    expect(findings).toMatchObject([{ rule: 'TYPES_TIMED_OUT' }]);
    expect(end).toMatchObject({ cause: 'deadline' });
  });

  it('is none, of nobody, when the time is up before it has begun', async () => {
    await expect(checked('exit 0', 1)).rejects.toMatchObject({ code: 'CELL_BOOT_FAILED' });
  });
});
