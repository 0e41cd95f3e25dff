import { readOwnKeys, readTrustedKeys, type TrustedKeyTexts } from '@glovebox/artifact';
import { GloveboxError } from '@glovebox/contract';
import { openUnsafeFile, readStart } from './unsafe-file.ts';

/** A key list with a hundred retired keys takes a tenth. */
const maxKeyFileBytes = 512 * 1024;

const hint = 'Pass a public key in PEM, or keys/keys.json of an instance.';

/** The keys in files that somebody pins. @throws GloveboxError `INPUT_UNREADABLE`, `KEY_UNUSABLE`. */
export async function pinnedKeys(paths: readonly string[]): Promise<TrustedKeyTexts> {
  const texts = await Promise.all(paths.map(readKeyFile));
  const read = texts.map((text, i) => readKeys(text, paths[i] as string));
  return { keys: read.flatMap(({ keys }) => keys), retired: read.flatMap(({ retired }) => retired) };
}

async function readKeyFile(path: string): Promise<string> {
  const file = await openUnsafeFile(path, hint);
  if (file === 'directory')
    throw new GloveboxError('INPUT_UNREADABLE', { message: `The key ${path} is a directory.`, hint });
  try {
    const bytes = await readStart(file, maxKeyFileBytes + 1);
    if (bytes.length > maxKeyFileBytes)
      throw new GloveboxError('KEY_UNUSABLE', {
        message: `${path} is too large for keys.`,
        hint,
        place: { file: path },
      });
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

function readKeys(text: string, path: string): TrustedKeyTexts {
  try {
    return readTrustedKeys(text);
  } catch (error) {
    if (!GloveboxError.is(error, 'KEY_UNUSABLE')) throw error;
    throw new GloveboxError('KEY_UNUSABLE', { ...error.toData(), hint, place: { file: path }, cause: error });
  }
}

/** The current key of the instance in a data directory, and those that it has retired. @throws GloveboxError `KEY_UNUSABLE`. */
export function ownKeys(dataDir: string): TrustedKeyTexts {
  try {
    return readOwnKeys(dataDir);
  } catch (error) {
    if (!GloveboxError.is(error, 'KEY_UNUSABLE')) throw error;
    throw new GloveboxError('KEY_UNUSABLE', {
      ...error.toData(),
      hint: `Pass the key that you trust with --key, or name the data directory of the instance with --data-dir.`,
      cause: error,
    });
  }
}
