import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Engine, verifyAuditChain } from '@glovebox/engine';
import { expect, it, vi } from 'vitest';
import { defaultCells, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { sharedImages } from '../support/engine.ts';
import { useEngine } from '../support/use-engine.ts';
import { goodPackage, putFiles, validateFiles } from '../support/validation.ts';

vi.setConfig({ testTimeout: 240_000 });

const cells = useEngine();
const program = fileURLToPath(new URL('validation-program.ts', import.meta.url));
const id = 'adder';

/** A copy of the data directory in which a validation dies; then whoever opens it next looks around. */
async function afterDeath(
  when: string,
  look: (engine: Engine, dataDir: string) => Promise<void>,
): Promise<'died' | 'lived'> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-killed-'));
  const dataDir = join(dir, 'data');
  try {
    cpSync(cells().dataDir, dataDir, { recursive: true });
    // Whose it is was the original's; and an artifact that is there would not be written again.
    for (const place of ['run', 'artifacts']) rmSync(join(dataDir, place), { recursive: true, force: true });
    const child = spawn(process.execPath, [program, dataDir, id, when], { stdio: 'inherit' });
    const [code, signal] = await once(child, 'exit');
    if (code === 0) return 'lived';
    expect({ when, signal }).toEqual({ when, signal: 'SIGKILL' });
    const config = {
      dataDir,
      ...defaultCells,
      registry: undefined,
      minimumPackageAgeMs: undefined,
      extraCa: process.env.GLOVEBOX_EXTRA_CA,
    };
    const { engine, close } = await openLocalEngine(config, {}, { imagesDir: sharedImages });
    try {
      await look(engine, dataDir);
    } finally {
      await close();
    }
    return 'died';
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

it('kill -9 before any step of a validation leaves a draft that has passed with its artifact, or one that is validated again by itself', async () => {
  const files = goodPackage();
  const { artifact } = await validateFiles(cells().engine, files);
  const left: string[] = [];
  for (let n = 1; ; n++) {
    const outcome = await afterDeath(String(n), async (engine) => {
      const record = await engine.drafts.get('default', id);
      const state = record?.draft.state ?? 'gone';
      left.push(state);
      expect({ n, state }).toEqual({ n, state: expect.stringMatching(/^(draft|passed)$/) });
      if (state === 'draft') expect({ n, passed: record?.passed }).toEqual({ n, passed: null });
      const { entries } = await verifyAuditChain(engine, { keys: engine.keys });
      expect({ n, entries: entries > 0 }).toEqual({ n, entries: true });

      const again = await validateFiles(engine, files);
      expect({ n, state: again.draft.state, artifact: again.artifact }).toEqual({ n, state: 'passed', artifact });
      expect((await engine.artifacts.load(artifact ?? '')).digest).toBe(artifact);
    });
    if (outcome === 'lived') break;
  }
  // Before it began, and after it ended, nothing had changed; all that lies between was left by the dead.
  expect(new Set(left)).toEqual(new Set(['passed', 'draft']));
  expect(left.length).toBeGreaterThanOrEqual(7);
});

it('kill -9 while cells are at work leaves no cell and a draft', async () => {
  await putFiles(
    cells().engine,
    goodPackage({ 'src/add.ts': 'export const add = (a: number, b: number) => b + a;\n' }),
  );
  const outcome = await afterDeath('cells', async (engine, dataDir) => {
    expect((await engine.drafts.get('default', id))?.draft).toMatchObject({ state: 'draft', artifact: null });
    const { removed } = await engine.driver.sweep();
    expect({ dataDir, cells: removed.cells }).toEqual({ dataDir, cells: 0 });
  });
  expect(outcome).toBe('died');
});
