import { join } from 'node:path';
import { defaultProject, GloveboxError } from '@glovebox/contract';
import { localActor } from '../actor.ts';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openLocalParts } from '../local-parts.ts';
import { paint } from '../output.ts';

/**
 * Works on the data directory itself, as its owner: a key is no matter of the API. The rotation is in the audit chain,
 * whose head the new key then signs.
 */
export async function run({ args, output }: CommandContext): Promise<number> {
  if (args.options.yes !== true)
    throw usage(
      'key rotate',
      'A rotation retires the key that everything so far was signed with: add --yes if you mean it',
    );
  const config = await loadConfig(args.global.dataDir);
  const { openOwnership } = await import('@glovebox/engine/ownership');
  const ownership = openOwnership(join(config.dataDir, 'run'));
  if (!ownership.claim()) {
    const unjudged = ownership.unjudged();
    throw new GloveboxError('STORE_BUSY', {
      message: `Another process owns ${config.dataDir}; no key was rotated.`,
      hint:
        unjudged === undefined
          ? 'Wait until it has ended, then try again.'
          : `Wait until it has ended. If it ran in a container that is gone, remove ${unjudged} and try again.`,
    });
  }
  try {
    const { rotateSigningKey } = await import('@glovebox/artifact');
    const { retiredKeyId, keyId } = await rotateSigningKey(config.dataDir);
    await recordRotation(config, { retiredKeyId, keyId });
    const keyList = join(config.dataDir, 'keys', 'keys.json');
    output.result({ keyId, retiredKeyId, keyList }, () =>
      [
        `${paint('green', 'rotated')}  ${keyId}`,
        `  retired  ${retiredKeyId}`,
        `  give ${keyList} to whoever verifies: glovebox verify --key keys.json`,
      ].join('\n'),
    );
    return 0;
  } finally {
    ownership.release();
  }
}

async function recordRotation(
  config: Awaited<ReturnType<typeof loadConfig>>,
  { retiredKeyId, keyId }: { retiredKeyId: string; keyId: string },
): Promise<void> {
  const { checkpointAudit } = await import('@glovebox/engine');
  const parts = openLocalParts(config);
  try {
    const engine = await parts.open('audit', 'signer', 'keys', 'now');
    await engine.audit.append({
      atMs: engine.now(),
      actor: localActor(),
      project: defaultProject,
      action: 'key.rotated',
      subject: keyId,
      details: { retired: retiredKeyId },
    });
    await checkpointAudit(engine);
  } finally {
    await parts.close();
  }
}
