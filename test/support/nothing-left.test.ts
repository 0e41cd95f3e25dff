import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { formatOwnedName, readOwnMark } from '@glovebox/cell/host';
import { newCellId, newInstanceId } from '@glovebox/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const own = newInstanceId();
/** Of an owner that no sweep of this host can judge: it stays until we remove it. */
const name = formatOwnedName(newCellId(), { ...readOwnMark(own), pidNamespace: '4026599999' });
const claim = join('/run/glovebox-uids/16004', name);
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(root, 'node_modules', '.glovebox-tests-'));
  mkdirSync(claim, { recursive: true, mode: 0o700 });
});
afterAll(() => {
  rmSync(dir, { recursive: true });
  rmSync(resolve(claim, '..'), { recursive: true });
});

/** A real run of vitest with one test, which passes, and which makes the instance. */
function runNoting(instance: string, more = '') {
  const config = {
    root: dir,
    test: { include: ['*.check.js'], exclude: [], globalSetup: [join(import.meta.dirname, 'nothing-left.ts')] },
  };
  writeFileSync(join(dir, 'vitest.config.mjs'), `export default ${JSON.stringify(config)};`);
  writeFileSync(
    join(dir, 'a.check.js'),
    `import { it } from 'vitest';
     import { noteInstance } from ${JSON.stringify(join(import.meta.dirname, 'instances.ts'))};
     it('passes', () => { noteInstance(${JSON.stringify(instance)}, ${JSON.stringify(join(dir, 'run'))}); ${more} });`,
  );
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [vitest, 'run', '--config', join(dir, 'vitest.config.mjs')],
    // Not alone: others may leave what they like.
    { cwd: root, encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } },
  );
  return { status, said: stdout + stderr };
}

it('a run of tests fails for what an instance of its own has left, though every test passed', () => {
  const { status, said } = runNoting(own);
  expect(said).toContain('1 passed');
  expect(said).toContain(`claims: 16004 ${name}`);
  expect(status).not.toBe(0);
});

it('a run of tests fails for the directory of a cell, and for a namespace that a process of a test holds', () => {
  const folder = join(dir, 'run/cells/made-up');
  const pidFile = join(dir, 'pid');
  mkdirSync(folder, { recursive: true });
  try {
    const hold = `const child = process.getBuiltinModule('node:child_process').spawn('unshare', ['--uts', 'sleep', '60'], { detached: true, stdio: 'ignore' });
      process.getBuiltinModule('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(child.pid)); child.unref();`;
    const { status, said } = runNoting(newInstanceId(), hold);
    expect(said).toContain('1 passed');
    expect(said).toContain('directories: made-up');
    expect(said).toMatch(new RegExp(`namespaces: uts:\\S+ of ${readFileSync(pidFile, 'utf8')} sleep`));
    expect(said).not.toMatch(/namespaces: (mnt|pid|net)/);
    expect(status).not.toBe(0);
  } finally {
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
    rmSync(folder, { recursive: true });
  }
});

it('a run of tests passes beside what an instance of another has left', () => {
  const { status, said } = runNoting(newInstanceId());
  expect(said).toContain('1 passed');
  expect(said).not.toContain('left on this host');
  expect(status).toBe(0);
});
