import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { useEngine } from '../support/use-engine.ts';

/**
 * crun, with its arguments written down first. A runtime that executes something in a container that runs foreign code
 * can be overwritten by that code through /proc/self/exe (CVE-2019-5736), so nothing of ours asks for it.
 */
const dir = mkdtempSync(join(tmpdir(), 'glovebox-runtime-'));
const log = join(dir, 'calls');
const runtime = join(dir, 'crun');
writeFileSync(runtime, `#!/bin/sh\necho "$@" >>${log}\nexec crun "$@"\n`, { mode: 0o755 });
afterAll(() => rmSync(dir, { recursive: true }));

const overrides = { runtime, weakenForTest: <T>(spec: T): T => spec };
const cells = useEngine(overrides);

it('a runtime is asked for its version and to run cells, and never to execute something in one', async () => {
  const node = {
    top: `import fs from 'node:fs';`,
    body: `
      ctx.log.info('begun');
      const opened = [];
      for (const path of ['/proc/self/exe', '/proc/1/exe', '/proc/thread-self/exe', '/usr/bin/node'])
        for (const flags of ['r+', 'w', 'a']) try { fs.closeSync(fs.openSync(path, flags)); opened.push(path); } catch {}
      return opened;`,
  };
  expect(await cells().run(node)).toMatchObject({ state: 'SUCCEEDED', output: [] });
  const controller = new AbortController();
  const stopped = cells().run(
    { body: `ctx.log.info('begun'); for (;;);`, id: 'never-ends' },
    { signal: controller.signal, events: { onLog: () => controller.abort() } },
  );
  expect(await stopped).toMatchObject({ state: 'CANCELLED' });
  await cells().engine.driver.sweep();
  await cells().engine.driver.gauges();
  await cells().engine.driver.inspect();

  expect(existsSync(log)).toBe(true);
  const asked = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) =>
      line
        .split(' ')
        .find((word) =>
          /^(--version|run|exec|create|start|kill|delete|update|pause|resume|ps|state|list|spec|checkpoint|restore)$/.test(
            word,
          ),
        ),
    );
  // Two bundles and two runs, and one question at least.
  expect(asked.filter((verb) => verb === 'run')).toHaveLength(4);
  expect(new Set(asked)).toEqual(new Set(['--version', 'run']));
});
