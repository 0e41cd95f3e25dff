import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publishRelease, revokeRelease, showRelease, verifyAuditChain } from '@glovebox/engine';
import { expect, it, vi } from 'vitest';
import { openReleases } from '../support/release-records.ts';
import { author, passDraft, release } from '../support/releases.ts';
import { leftovers, useEngine } from '../support/use-engine.ts';

vi.setConfig({ testTimeout: 240_000 });

const cells = useEngine();
const program = fileURLToPath(new URL('release-program.ts', import.meta.url));
const id = 'killed';
type Releases = Awaited<ReturnType<typeof openReleases>>;

/** Every n until the program lives: the data directory as its death left it, in an engine of its own. */
async function eachDeath(
  verb: 'publish' | 'revoke',
  look: (records: Releases, left: { released: boolean; revoked: boolean }) => Promise<void>,
): Promise<{ before: number; after: number }> {
  const deaths = { before: 0, after: 0 };
  for (let n = 1; ; n++) {
    const dir = mkdtempSync(join(tmpdir(), 'glovebox-killed-'));
    const dataDir = join(dir, 'data');
    try {
      cpSync(cells().dataDir, dataDir, { recursive: true });
      // Whose it is was the original's.
      rmSync(join(dataDir, 'run'), { recursive: true, force: true });
      const child = spawn(process.execPath, [program, verb, dataDir, id, String(n)], {
        stdio: 'inherit',
      });
      const [code, signal] = await once(child, 'exit');
      if (code === 0) return deaths;
      expect({ n, signal }).toEqual({ n, signal: 'SIGKILL' });
      const records = await openReleases(dataDir);
      try {
        const found = await records.releases.find('default', id, { version: '1.0.0' });
        const draft = (await records.drafts.get('default', id))?.draft;
        expect({ n, state: draft?.state }).toEqual({ n, state: found === undefined ? 'passed' : 'released' });
        const left = { released: found !== undefined, revoked: found?.state === 'revoked' };
        deaths[(verb === 'publish' ? left.released : left.revoked) ? 'after' : 'before']++;
        await look(records, left);
        const { entries, signedUpTo } = await verifyAuditChain(records, { keys: records.keys });
        expect({ n, signedUpTo }).toEqual({ n, signedUpTo: entries });
        expect({ n, leftovers: leftovers(dataDir) }).toEqual({ n, leftovers: [] });
      } finally {
        await records.close();
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
}

it('kill -9 between any two steps of publishing leaves a draft that passed or a release, and the next try makes it whole', async () => {
  await passDraft(cells(), { id, body: 'return 1' });
  const deaths = await eachDeath('publish', async (records, { released }) => {
    const { created } = await publishRelease(records, { project: 'default', id, actor: author });
    expect(created).toBe(!released);
    const { content, problem } = await showRelease(records, { project: 'default', reference: id });
    expect(problem).toBeNull();
    expect(content?.attestations.filter(({ kind }) => kind === 'release').length).toBe(1);
  });
  // Not vacuous: some before the transaction that makes it, some after.
  expect(deaths.before).toBeGreaterThanOrEqual(5);
  expect(deaths.after).toBeGreaterThanOrEqual(2);
});

it('kill -9 between any two steps of revoking leaves it active or revoked, and the next try revokes it', async () => {
  await release(cells(), { id, body: 'return 1' });
  const deaths = await eachDeath('revoke', async (records, { revoked }) => {
    const change = { project: 'default', reference: `${id}@1.0.0`, reason: 'Bad', actor: author };
    expect(await revokeRelease(records, change)).toMatchObject({ changed: !revoked, release: { state: 'revoked' } });
  });
  expect(deaths.before).toBeGreaterThanOrEqual(2);
  expect(deaths.after).toBeGreaterThanOrEqual(2);
});
