import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { manifestJsonSchema } from '@glovebox/contract';
import { apiMarkdown } from './api-doc.ts';
import { errorsMarkdown } from './errors-doc.ts';

/** Documents that are made from sources: path relative to the root, and what must stand there. */
export function generatedDocuments(): { path: string; text: string }[] {
  return [
    { path: 'docs/errors.md', text: errorsMarkdown() },
    { path: 'docs/api.md', text: apiMarkdown() },
    { path: 'docs/node.schema.json', text: `${JSON.stringify(manifestJsonSchema(), null, 2)}\n` },
  ];
}

/** @returns paths of generated documents that are missing or not what their source makes. */
export function staleDocuments(root: string): string[] {
  return generatedDocuments()
    .filter(({ path, text }) => readIfThere(join(root, path)) !== text)
    .map(({ path }) => path);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
