import { renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { generatedDocuments, staleDocuments } from './generated-docs.ts';

const root = resolve(import.meta.dirname, '..');
const stale = staleDocuments(root);
for (const { path, text } of generatedDocuments()) {
  if (!stale.includes(path)) continue;
  const unfinished = join(root, `${path}.${process.pid}`);
  writeFileSync(unfinished, text);
  renameSync(unfinished, join(root, path));
  console.log(`wrote ${path}`);
}
if (stale.length === 0) console.log('everything is up to date');
