import { GloveboxError, parseReference } from '@glovebox/contract';

/**
 * A reference on the command line, as the routes take it. A project in it is the one that is meant.
 *
 * @throws GloveboxError `REFERENCE_INVALID`.
 */
export function releaseOf(text: string, project: string): { project: string; reference: string } {
  const parsed = parseReference(text);
  if (parsed === undefined) throw new GloveboxError('REFERENCE_INVALID', { message: `${text} is not a reference.` });
  return { project: parsed.project ?? project, reference: text.slice(text.indexOf('/') + 1) };
}
