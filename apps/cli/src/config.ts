import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { z } from 'zod';

/** Names of the environment variables that this product reads. Nothing else of it is looked at. */
export const environmentNames = { dataDir: 'GLOVEBOX_DATA_DIR', extraCa: 'GLOVEBOX_EXTRA_CA' } as const;

const fileSchema = z.strictObject({
  runtime: z.union([z.enum(['auto', 'crun', 'runc']), z.string().startsWith('/')]).default('auto'),
  registry: z.url({ protocol: /^https?$/ }).optional(),
});

export interface Config {
  readonly dataDir: string;
  /** `auto`, `crun`, `runc`, or the path of an OCI runtime. */
  readonly runtime: string;
  /** URL of the package registry; undefined means the one that npm is configured with. */
  readonly registry: string | undefined;
  readonly extraCa: string | undefined;
}

export const configFileName = 'glovebox.yaml';

export function dataDirOf(option: string | undefined): string {
  const env = process.env;
  const named = option ?? env[environmentNames.dataDir];
  if (named === '')
    throw new GloveboxError('USAGE', {
      message: 'The data directory is an empty string.',
      hint: 'Pass --data-dir DIR.',
    });
  if (named !== undefined) return resolve(named);
  const base = env.XDG_DATA_HOME;
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.local', 'share'), 'glovebox');
}

/**
 * Option, then environment, then glovebox.yaml of the data directory, then the default.
 * @throws GloveboxError `CONFIG_INVALID` with the place.
 */
export async function loadConfig(dataDirOption: string | undefined): Promise<Config> {
  const dataDir = dataDirOf(dataDirOption);
  const file = await readConfigFile(join(dataDir, configFileName));
  return { dataDir, runtime: file.runtime, registry: file.registry, extraCa: process.env[environmentNames.extraCa] };
}

async function readConfigFile(path: string): Promise<z.infer<typeof fileSchema>> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return fileSchema.parse({});
    throw new GloveboxError('CONFIG_INVALID', {
      message: `${path} cannot be read: ${(error as Error).message}`,
      place: { file: path },
      cause: error,
    });
  }
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { strict: true, uniqueKeys: true });
  const problem = document.errors[0];
  if (problem) {
    const at = problem.linePos?.[0];
    throw new GloveboxError('CONFIG_INVALID', {
      message: `${path}: ${problem.message.split('\n')[0]}`,
      place: { file: path, ...(at ? { line: at.line, column: at.col } : {}) },
    });
  }
  const parsed = fileSchema.safeParse(document.toJS({ maxAliasCount: 0 }) ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : issue?.path.join('.');
  throw new GloveboxError('CONFIG_INVALID', {
    message: `${path}: ${issue?.code === 'unrecognized_keys' ? `unknown setting ${field}` : `${field}: ${issue?.message}`}`,
    place: { file: path, path: `/${(issue?.path ?? []).join('/')}` },
  });
}
