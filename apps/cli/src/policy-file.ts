import { type EgressPolicy, GloveboxError, type Place } from '@glovebox/contract';
import { readTextFile } from './text-file.ts';
import { parseYaml, type YamlText } from './yaml-text.ts';

/** As much as the API takes. */
const maxPolicyBytes = 1024 * 1024;

/**
 * Read an egress policy from a file of YAML or JSON, or from standard input (`-`).
 *
 * @throws GloveboxError `INPUT_UNREADABLE`; `EGRESS_POLICY_INVALID` with file, line and column, and the JSON Pointer in the policy.
 */
export async function readPolicyFile(path: string): Promise<EgressPolicy> {
  const file = path === '-' ? 'standard input' : path;
  const yaml = await parseYaml(await readPolicyText(path, file));
  if (!yaml.ok) throw invalid(`${file} is not usable YAML: ${yaml.message}.`, { file, ...yaml.place });
  // An empty file is more likely a slip than the wish for the default policy.
  if (yaml.value === undefined) throw invalid(`${file} is empty.`, { file });
  const { readEgressPolicy } = await import('@glovebox/egress/offline');
  try {
    return readEgressPolicy(yaml.value);
  } catch (error) {
    throw GloveboxError.is(error, 'EGRESS_POLICY_INVALID') ? placedIn(error, file, yaml) : error;
  }
}

const invalid = (message: string, place: Place): GloveboxError =>
  new GloveboxError('EGRESS_POLICY_INVALID', { message, place });

function placedIn(error: GloveboxError, file: string, yaml: Extract<YamlText, { ok: true }>): GloveboxError {
  const path = error.place?.path ?? '';
  const parts = path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const { message, details } = error.toData();
  return new GloveboxError('EGRESS_POLICY_INVALID', {
    message,
    place: { file, path, ...yaml.placeOf(parts) },
    ...(details === undefined ? {} : { details }),
    cause: error,
  });
}

async function readPolicyText(path: string, file: string): Promise<string> {
  const refuse = (why: string, cause?: unknown): GloveboxError =>
    new GloveboxError('INPUT_UNREADABLE', {
      message: `The policy in ${file} ${why}.`,
      hint: 'Pass a readable file of UTF-8 text, or - for standard input.',
      place: { file },
      cause,
    });
  return readTextFile(path, maxPolicyBytes, refuse);
}
