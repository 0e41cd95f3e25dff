import { readFile, stat } from 'node:fs/promises';
import { maxEnvelopeBytes, readPublicKey, verifyReceipt } from '@glovebox/artifact';
import { GloveboxError, idPatterns, type ReceiptStatement } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { dataDirOf, loadConfig } from '../config.ts';
import { paint } from '../output.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const target = args.positionals[0] as string;
  const keys = await trustedKeys(args.options.key as string[] | undefined, dataDirOf(args.global.dataDir));
  const ofRun = idPatterns.run.test(target);
  const verified = ofRun ? await verifyRecord(args, target, keys) : await verifyFile(target, keys);
  const { predicate } = verified.statement;
  const { observed } = predicate;
  output.result(
    { verified: true, keyId: verified.keyId, comparedWithRecord: ofRun, statement: verified.statement },
    () =>
      [
        `${paint('green', 'verified')}  key ${verified.keyId.slice(0, 16)}…${ofRun ? ', matches the record' : ''}`,
        `  attempt   ${predicate.attempt} of ${predicate.run}`,
        `  node      ${predicate.node.id}@${predicate.node.version}`,
        `  bundle    ${predicate.node.bundle}`,
        `  image     ${observed.image}`,
        `  state     ${observed.state}${observed.errorCode ? ` ${observed.errorCode}` : ''}`,
        `  cell      class ${observed.class}, ${observed.driver.name} by ${observed.driver.runtime} ${observed.driver.version}`,
        `  in force  ${observed.properties.join(', ')}`,
        `  egress    ${observed.egress.requests} requests`,
      ].join('\n'),
  );
  return 0;
}

/** Keys of the command line, else that of this instance. */
async function trustedKeys(files: string[] | undefined, dataDir: string): Promise<string[]> {
  if (files === undefined) return [ownKey(dataDir)];
  return Promise.all(
    files.map((path) =>
      readFile(path, 'utf8').catch((cause: unknown) => {
        throw new GloveboxError('INPUT_UNREADABLE', {
          message: `The key ${path} cannot be read.`,
          hint: 'Pass a public key in PEM.',
          place: { file: path },
          cause,
        });
      }),
    ),
  );
}

function ownKey(dataDir: string): string {
  try {
    return readPublicKey(dataDir);
  } catch (error) {
    if (!GloveboxError.is(error, 'KEY_UNUSABLE')) throw error;
    throw new GloveboxError('KEY_UNUSABLE', {
      ...error.toData(),
      hint: `Pass the key that you trust with --key, or name the data directory of the instance with --data-dir.`,
      cause: error,
    });
  }
}

async function verifyFile(path: string, keys: string[]): Promise<{ statement: ReceiptStatement; keyId: string }> {
  const verified = verifyReceipt(await readReceipt(path), { keys });
  if (!verified.ok) throw GloveboxError.fromData(verified.error);
  return verified;
}

async function readReceipt(path: string): Promise<Buffer> {
  try {
    if ((await stat(path)).size > maxEnvelopeBytes)
      throw new GloveboxError('RECEIPT_UNREADABLE', {
        message: `${path} is too large for a receipt.`,
        place: { file: path },
      });
    return await readFile(path);
  } catch (error) {
    if (error instanceof GloveboxError) throw error;
    throw new GloveboxError('INPUT_UNREADABLE', {
      message: `${path} cannot be read.`,
      hint: 'Pass a receipt file or a run id.',
      place: { file: path },
      cause: error,
    });
  }
}

async function verifyRecord(
  args: CommandContext['args'],
  run: string,
  keys: string[],
): Promise<{ statement: ReceiptStatement; keyId: string }> {
  const [{ openApi }, { projectOf }] = await Promise.all([import('../local-api.ts'), import('../project.ts')]);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    return await client.call('runs.verify', { params: { project: projectOf(args), run }, body: { keys } });
  } finally {
    await close();
  }
}
