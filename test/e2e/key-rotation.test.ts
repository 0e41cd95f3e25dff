import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rotateSigningKey } from '@glovebox/artifact';
import { checkpointAudit, publishRelease, showRelease, verifyAuditChain, verifyRun } from '@glovebox/engine';
import { expect, it } from 'vitest';
import { openReleases } from '../support/release-records.ts';
import { author, passDraft, release, runReference } from '../support/releases.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

it('a release outlives the key that it was signed with: it runs, verifies, and the next one is signed by the new key', async () => {
  const { engine, dataDir } = cells();
  await release(cells(), { id: 'older', body: 'return 1' });
  const { run } = await runReference(engine, 'older');
  await passDraft(cells(), { id: 'newer', body: 'return 2' });
  // In a copy, since this engine has the old key open.
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-rotated-'));
  const copy = join(dir, 'data');
  cpSync(dataDir, copy, { recursive: true });
  const [oldKey = ''] = engine.keys;
  const { publicKeyPem: newKey } = await rotateSigningKey(copy);
  const { close, ...records } = await openReleases(copy);
  try {
    const rotated = { ...engine, ...records };
    expect(rotated.keys).toEqual([newKey, oldKey]);
    await checkpointAudit(rotated);
    expect((await runReference(rotated, 'older')).output).toBe(1);
    await publishRelease(rotated, { project: 'default', id: 'newer', actor: author });
    expect((await runReference(rotated, 'newer')).output).toBe(2);
    const { content } = await showRelease(rotated, { project: 'default', reference: 'newer' });
    expect(content?.attestations.find(({ kind }) => kind === 'release')?.keyId).toBe(rotated.signer.keyId);
    await expect(verifyRun(rotated, 'default', run, rotated.keys)).resolves.toBeDefined();
    await expect(verifyRun(rotated, 'default', run, [newKey])).rejects.toMatchObject({ code: 'RECEIPT_KEY_UNKNOWN' });
    const { entries, signedUpTo } = await verifyAuditChain(rotated, { keys: [newKey], retired: [oldKey] });
    expect(signedUpTo).toBeGreaterThan(entries - 3);
    // Whoever knows only the old key is told that it does not do any more.
    await expect(verifyAuditChain(rotated, { keys: [oldKey] })).rejects.toMatchObject({
      code: 'ATTESTATION_KEY_UNKNOWN',
    });
  } finally {
    await close();
    rmSync(dir, { recursive: true, force: true });
  }
});
