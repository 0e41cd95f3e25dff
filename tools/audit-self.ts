import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createPackageSource } from '@glovebox/registry-npm';
import { auditLockfile } from '@glovebox/validate';

/**
 * `npm run audit:self`: what is asked of the lockfiles of nodes is asked of our own. Also that no install script can run:
 * by .npmrc, whatever is in the lockfile.
 */
const root = resolve(import.meta.dirname, '..');
const problems = auditRepository(root);
for (const problem of problems) console.log(problem);
console.log(problems.length === 0 ? 'audit: the lockfile holds' : `audit: ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

function auditRepository(dir: string): string[] {
  const text = readFileSync(join(dir, 'package-lock.json'));
  const { packages } = JSON.parse(text.toString('utf8')) as { packages: Record<string, { name?: string }> };
  const workspaces = Object.keys(packages).filter((path) => /^(packages|adapters|apps)\/[a-z0-9-]+$/.test(path));
  const { registries } = createPackageSource({ cacheDir: join(dir, '.cache', 'audit') });
  const findings = auditLockfile(text, {
    registries: registries(),
    workspaces,
    // esbuild's would fetch another binary where the optional one is missing.
    withInstallScript: ['esbuild'],
  });
  const settings = readFileSync(join(dir, '.npmrc'), 'utf8').split('\n');
  return [
    ...findings.map(({ place, message, rule }) => `package-lock.json:${place.line ?? ''} ${message} (${rule})`),
    ...(settings.includes('ignore-scripts=true') ? [] : ['.npmrc lets install scripts run']),
  ];
}
