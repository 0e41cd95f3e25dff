import { resolve } from 'node:path';
import { runTests } from './tests.ts';

const root = resolve(import.meta.dirname, '..');
const { passed, failed, skipped } = await runTests(root, 'vitest.long.config.ts', process.argv.slice(2));
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
