import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrustedKeyTexts } from '@glovebox/artifact';
import { GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { projectOf } from '../project.ts';
import { releaseOf } from '../release-argument.ts';
import { writeNewFile } from '../target.ts';
import type { Verified } from './verified.ts';
import { verifyArtifactFile } from './verify-artifact-file.ts';
import { verifiedReceipt } from './verify-receipt-file.ts';

/**
 * Verify the receipt of a run and hold it against the record.
 *
 * @param pinned undefined means the keys of the instance.
 */
export async function verifyRunRecord(
  args: CommandContext['args'],
  run: string,
  pinned: TrustedKeyTexts | undefined,
): Promise<Verified> {
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const body = pinned ?? {};
    const verified = await client.call('runs.verify', { params: { project: projectOf(args), run }, body });
    return verifiedReceipt(verified, true);
  } finally {
    await close();
  }
}

/**
 * Verify the artifact of a release, as it would be exported, and hold it against the record.
 *
 * @param pinned undefined means the keys of the instance, as for a run of it.
 */
export async function verifyReleaseRecord(
  args: CommandContext['args'],
  reference: string,
  pinned: TrustedKeyTexts | undefined,
): Promise<Verified> {
  const params = releaseOf(reference, projectOf(args));
  const config = await loadConfig(args.global.dataDir);
  const directory = await mkdtemp(join(tmpdir(), 'glovebox-verify-'));
  const { client, close } = await openApi(config);
  try {
    const { release, problem } = await client.call('releases.get', { params });
    if (problem !== null) throw GloveboxError.fromData(problem);
    const trusted = pinned ?? { keys: (await client.call('keys.list', {})).keys, retired: [] };
    const file = join(directory, 'artifact.tar');
    const exact = { ...params, reference: `${release.id}@${release.version}` };
    await writeNewFile(file, await client.bytes('artifacts.export', { params: exact }), 0o600);
    const { json, words } = await verifyArtifactFile(file, trusted, release.digest);
    return {
      json: { ...json, comparedWithRecord: true, release: { ref: release.ref, state: release.state } },
      words: [...words, `state     ${release.state}`],
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
    await close();
  }
}
