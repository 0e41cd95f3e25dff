import { spawnSync } from 'node:child_process';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const main = new URL('./main.ts', import.meta.url).href;

/** Load modules as celld does where it is asked for help, and tell everything that was loaded with them. */
function loadedBy(...specifiers: string[]): { builtins: string[]; files: string[] } {
  const program = `
    import { registerHooks } from 'node:module';
    const urls = new Set();
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context);
        urls.add(found.url);
        return found;
      },
    });
    for (const specifier of ${JSON.stringify(specifiers)}) await import(specifier);
    console.error(JSON.stringify([...urls]));
  `;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program, '--', 'celld', '--help'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  const urls = JSON.parse(stderr) as string[];
  return {
    builtins: urls.filter((url) => url.startsWith('node:')),
    files: urls.filter((url) => url.startsWith('file:')).map((url) => relative(root, fileURLToPath(url))),
  };
}

/** What would be HTTP, other connections than local ones, a store, or code of others. */
const never = /^node:(https?|http2|tls|dgram|dns|sqlite|vm|inspector|worker_threads|cluster)(\/|$)/;

it('celld has no HTTP, no store and no vault in it, nor anything that reads what an author wrote', () => {
  const { builtins, files } = loadedBy(main, '@glovebox/cell-oci');
  expect(builtins.filter((name) => never.test(name))).toEqual([]);
  const folders = new Set(files.map((file) => file.split('/').slice(0, 2).join('/')));
  expect([...folders].sort()).toEqual([
    'adapters/cell-oci',
    'apps/celld',
    'node_modules/canonicalize',
    'node_modules/zod',
    'packages/cell',
    'packages/contract',
    'packages/engine',
  ]);
  expect(files.filter((file) => file.startsWith('packages/engine')).sort()).toEqual([
    'packages/engine/src/ownership.ts',
    'packages/engine/src/staging.ts',
  ]);
});

it('what makes cells through an engine is another matter: its client speaks HTTP', () => {
  const { builtins } = loadedBy('@glovebox/cell-docker');
  expect(builtins.filter((name) => never.test(name))).toContain('node:http');
});
