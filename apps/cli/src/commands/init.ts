import { existsSync } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { openInstance } from '@glovebox/artifact';
import { GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { configFileName, dataDirOf } from '../config.ts';

const commentedConfig = `# Glovebox configuration. Every line here is optional; what is commented out shows the default.

# OCI runtime that boots cells: auto (crun, else runc), crun, runc, or an absolute path.
# runtime: auto

# Package registry that dependencies of nodes come from. Default: the one that npm is configured with.
# registry: https://registry.example.com/
`;

export async function run({ args, output }: CommandContext): Promise<number> {
  const dataDir = dataDirOf(args.global.dataDir);
  const path = join(dataDir, configFileName);
  if (existsSync(path))
    throw new GloveboxError('ALREADY_EXISTS', {
      message: `${path} is already there; nothing was changed.`,
      place: { file: path },
    });
  const { instance, publicKeyPem } = await openInstance(dataDir);
  const temp = `${path}.${process.pid}`;
  const file = await open(temp, 'wx', 0o600);
  try {
    await file.writeFile(commentedConfig);
    await file.sync();
    await rename(temp, path);
  } catch (error) {
    await unlink(temp).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
  output.result(
    { dataDir, config: path, instance, publicKey: publicKeyPem },
    () =>
      `Made ${dataDir}\n  config    ${path}\n  instance  ${instance}\n\nNext: glovebox doctor, then glovebox node new my-node`,
  );
  return 0;
}
