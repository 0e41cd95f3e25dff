import { finished } from 'node:stream/promises';
import {
  cellPaths,
  judgeProbe,
  ownProfile,
  planBundleCell,
  planTestsCell,
  planTypesCell,
  probeCalls,
  readProbeReport,
  watchHostNamespaces,
} from '@glovebox/cell';
import { newCellId } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { useChecks } from '../support/use-checks.ts';

const checks = useChecks();

const environment = { HOME: '/tmp', LANG: 'C.UTF-8', PATH: '/usr/bin', TMPDIR: '/tmp', TZ: 'UTC' };

describe.each([
  ['bundle', planBundleCell],
  ['types', planTypesCell],
  ['tests', planTestsCell],
] as const)('a cell for %s', (role, planOf) => {
  it('is what every cell is: own ids, no network, no privilege, the same system calls, nothing of the host', async () => {
    const plan = planOf(checks().image, 'ns');
    // The same cell, in which the probe looks around in place of our code.
    const driver = checks().open({
      weakenForTest: (spec) => ({ ...spec, process: { ...spec.process, args: [cellPaths.node, cellPaths.probe] } }),
    });
    const watch = watchHostNamespaces();
    const cell = await driver.boot(plan, newCellId());
    const chunks: Buffer[] = [];
    cell.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    cell.stderr.resume();
    const [end] = await Promise.all([cell.ended, finished(cell.stdout)]);
    expect(end).toMatchObject({ cause: 'self', exit: { signal: expect.stringMatching(/^SIG(SYS|SEGV)$/) } });
    const report = readProbeReport(Buffer.concat(chunks));
    const judged = judgeProbe({ ...report, plan, hostNamespaces: watch.end(), profile: ownProfile });
    const violated = judged.filter(({ violations }) => violations.length > 0);
    // What is on fd 0 is the one thing that differs: a bundle cell's tool is asked there.
    expect(violated.map(({ property }) => property)).toEqual(role === 'bundle' ? ['descriptors-fixed'] : []);
    expect(report.calls.outcomes).toHaveLength(probeCalls.length);
    expect(report.document).toMatchObject({
      environment,
      ids: { uid: 65532, euid: 65532, gid: 65532, egid: 65532 },
      cwd: '/',
      hostname: 'cell',
      argv: [cellPaths.node, cellPaths.probe],
    });
    expect(report.document.status).toMatchObject({ Seccomp: '2', NoNewPrivs: '1', CapEff: '0000000000000000' });
    expect(report.document.network.devices?.map((line) => line.split(':')[0]?.trim())).toContain('lo');
    expect(cell.facts.properties).toEqual(expect.arrayContaining(judged.map(({ property }) => property)));
  });
});

describe('what a test sees of its cell', () => {
  it('is one process with a fixed environment and flags, in which nothing of the host is to be had', async () => {
    const outcome = await checks().tests({
      'test/a.test.ts': `import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import { test } from 'node:test';
test('environment', () => assert.deepEqual({ ...process.env }, ${JSON.stringify({ ...environment, NODE_TEST_WORKER_ID: '1' })}));
test('command', () => {
  assert.deepEqual(process.argv, ['/usr/bin/node', '/glovebox/tester.cjs']);
  assert.deepEqual(process.execArgv.filter((flag) => !/^--max-/.test(flag)), ['--permission', '--allow-fs-read=/glovebox/', '--allow-fs-read=/toolchain/', '--allow-fs-read=/tmp/', '--allow-fs-write=/tmp/', '--no-experimental-ffi', '--disable-sigusr1', '--disable-warning=ExperimentalWarning']);
  assert.equal(process.cwd(), '/tmp/src-tree');
});
test('ids', () => {
  assert.deepEqual([process.getuid?.(), process.getgid?.(), process.pid, process.ppid], [65532, 65532, 1, 0]);
  assert.deepEqual([os.hostname(), os.homedir(), os.tmpdir(), os.userInfo().username], ['cell', '/tmp', '/tmp', 'cell']);
});
test('permissions', () => {
  const { permission } = process as unknown as { permission: { has(scope: string, path?: string): boolean } };
  for (const scope of ['fs.read', 'fs.write', 'child', 'worker', 'net', 'inspector', 'addon', 'wasi', 'ffi']) assert.equal(permission.has(scope), false, scope);
  for (const path of ['/etc/passwd', '/proc/self/status', '/usr/bin/node', '/dev/null']) assert.equal(permission.has('fs.read', path), false, path);
  for (const path of ['/glovebox/x', '/toolchain/x', '/etc/x']) assert.equal(permission.has('fs.write', path), false, path);
  assert.ok(permission.has('fs.write', '/tmp/x'));
});
test('what is refused', async () => {
  for (const action of [
    () => fs.readFileSync('/etc/passwd'),
    () => fs.readdirSync('/'),
    () => fs.readFileSync('/proc/self/environ'),
    () => fs.symlinkSync('/etc', '/tmp/etc'),
    () => fs.writeFileSync('/toolchain/testing-sdk/index.ts', ''),
    () => process.setuid?.(0),
    () => process.dlopen({ exports: {} }, '/tmp/x.node'),
    () => process.execve?.('/usr/bin/node', ['node']),
    () => new (process.getBuiltinModule('node:worker_threads').Worker)('1', { eval: true }),
    () => process.getBuiltinModule('node:child_process').spawnSync('/usr/bin/node'),
    () => process.getBuiltinModule('node:inspector').open(),
  ]) assert.throws(action, undefined, String(action));
  const net = process.getBuiltinModule('node:net');
  const code = (start: () => import('node:events').EventEmitter) => new Promise((resolve) => { try { start().on('error', (error) => resolve(error.code)).on('listening', resolve).on('connect', resolve); } catch (error) { resolve((error as { code: string }).code); } });
  for (const start of [
    () => net.connect(80, '127.0.0.1'),
    () => net.connect('/tmp/socket'),
    () => net.createServer().listen(0),
    () => net.createServer().listen('/tmp/socket'),
  ]) assert.match(String(await code(start)), /^E[A-Z_]+$/, String(start));
  await assert.rejects(process.getBuiltinModule('node:dns').promises.lookup('example.com'));
});
`,
    });
    expect(outcome).toEqual({
      state: 'passed',
      findings: [],
      facts: { selfReported: true, tests: 5, passed: 5, skipped: 0 },
    });
  });
});
