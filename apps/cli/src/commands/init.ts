import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { openInstance } from '@glovebox/artifact';
import { GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { configFileName, dataDirOf } from '../config.ts';
import { writeNewFile } from '../target.ts';

const commentedConfig = `# Glovebox configuration. Every line here is optional; what is commented out shows the default.

# OCI runtime that boots cells: auto (crun, else runc), crun, runc, or an absolute path.
# runtime: auto

# Package registry that dependencies of nodes come from. Default: the one that npm is configured with.
# registry: https://registry.example.com/

# How long a version must have been in the registry before a validation takes it, in days, hours or minutes (7d, 12h, 90m).
# It keeps out a version that was stolen into the registry and is found out within hours. Default: none, since it keeps out
# the latest fix of a hole just as long, and not every registry tells since when it has a version.
# packages: { minimumAge: 7d }
`;

export async function run({ args, output }: CommandContext): Promise<number> {
  const dataDir = dataDirOf(args.global.dataDir);
  const path = join(dataDir, configFileName);
  if (lstatSync(path, { throwIfNoEntry: false }))
    throw new GloveboxError('ALREADY_EXISTS', {
      message: `${path} is already there; nothing was changed.`,
      place: { file: path },
    });
  const { instance, publicKeyPem } = await openInstance(dataDir);
  await writeNewFile(path, [Buffer.from(commentedConfig)], 0o600);
  output.result(
    { dataDir, config: path, instance, publicKey: publicKeyPem },
    () =>
      `Made ${dataDir}\n  config    ${path}\n  instance  ${instance}\n\nNext: glovebox doctor, then glovebox node new my-node`,
  );
  return 0;
}
