/**
 * Writes the sources of a judge's child without their types to the directory that is its argument. All or nothing: they
 * are complete before they have that name, and who comes second leaves the first one's alone.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { readSources } from './program.ts';

const target = process.argv[2] ?? '';
mkdirSync(dirname(target), { recursive: true });
const made = mkdtempSync(join(dirname(target), '.new-'));
try {
  for (const [path, text] of readSources(dirname(import.meta.dirname))) {
    const file = join(made, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, stripTypeScriptTypes(text).replaceAll(/(from |import\()'(\.[^']+)\.ts'/g, "$1'$2.js'"));
  }
  writeFileSync(join(made, 'package.json'), '{"type":"module"}\n');
  renameSync(made, target);
} catch (error) {
  rmSync(made, { recursive: true, force: true });
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
}
