import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { idPatterns, parseReference } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { dataDirOf } from '../config.ts';
import { paint } from '../output.ts';
import { kindOfFile } from '../verify/kind-of-file.ts';
import { ownKeys, pinnedKeys } from '../verify/trusted-keys.ts';
import { openUnsafeFile } from '../verify/unsafe-file.ts';
import type { Verified } from '../verify/verified.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const { json, words } = await verify(args, args.positionals[0] as string);
  const { keyId, comparedWithRecord } = json;
  output.result(json, () => {
    const by = `${paint('green', 'verified')}  key ${keyId.slice(0, 16)}…${comparedWithRecord ? ', matches the record' : ''}`;
    return [by, ...words.map((line) => `  ${line}`)].join('\n');
  });
  return 0;
}

/** A run id is one; a name of a file or layout that is there is that; what is left may be a reference. */
async function verify(args: CommandContext['args'], target: string): Promise<Verified> {
  const files = args.options.key as string[] | undefined;
  const pinned = files === undefined ? undefined : await pinnedKeys(files);
  if (idPatterns.run.test(target)) {
    const { verifyRunRecord } = await import('../verify/verify-record.ts');
    return verifyRunRecord(args, target, pinned);
  }
  if (parseReference(target) !== undefined && !(await isThere(target))) {
    const { verifyReleaseRecord } = await import('../verify/verify-record.ts');
    return verifyReleaseRecord(args, target, pinned);
  }
  return verifyFile(
    target,
    pinned ?? ownKeys(dataDirOf(args.global.dataDir)),
    args.options.digest as string | undefined,
  );
}

async function verifyFile(
  path: string,
  trusted: { keys: string[]; retired: string[] },
  digest: string | undefined,
): Promise<Verified> {
  const file = await openUnsafeFile(path, 'Pass a file, an OCI image layout, a run id or a reference.');
  try {
    const kind = file === 'directory' ? 'artifact' : await kindOfFile(file);
    if (file === 'directory' || kind === 'artifact') {
      const { verifyArtifactFile } = await import('../verify/verify-artifact-file.ts');
      return await verifyArtifactFile(path, trusted, digest);
    }
    if (kind === 'audit') {
      const { verifyAuditFile } = await import('../verify/verify-audit-file.ts');
      return await verifyAuditFile(file, trusted);
    }
    const { verifyReceiptFile } = await import('../verify/verify-receipt-file.ts');
    return await verifyReceiptFile(file, path, trusted);
  } finally {
    if (file !== 'directory') await file.close();
  }
}

/** Whether a name leads to what could be verified. A node package often lies in a directory that is called like its releases. */
async function isThere(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return (await stat(join(path, 'oci-layout')).catch(() => undefined)) !== undefined;
  return found !== undefined;
}
