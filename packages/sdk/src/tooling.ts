import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compilerOptions } from './compiler-options.ts';

/** Compiled copies of this package have `.js` and `.d.ts` in place of the sources. */
const compiled = import.meta.url.endsWith('.js');
const codeExtension = compiled ? 'js' : 'ts';
const typesExtension = compiled ? 'd.ts' : 'ts';

/** What `index` and `testing` are made of. */
const runtimeModules = [
  'index',
  'testing',
  'arguments',
  'cassette-fetch',
  'cassette-format',
  'cassette-global',
  'cassette-match',
  'cassette-player',
  'freeze-json',
  'json-output',
  'log-fields',
  'node-error',
  'primordials',
] as const;

const urlOf = (name: string): URL => new URL(name, import.meta.url);
const read = (name: string): string => readFileSync(urlOf(name), 'utf8');
const moduleFile = (name: string): string => `${name}.${codeExtension}`;

/** Every file of which the texts below are made. */
export function toolingSources(): string[] {
  const declarations = ['api', 'testing-api'].map((name) => `${name}.${typesExtension}`);
  return [...runtimeModules.map(moduleFile), ...declarations].map((name) => fileURLToPath(urlOf(name)));
}

/** The SDK, testing kit included, as the files of a package directory that needs nothing else. @returns path → text. */
export function sdkPackage(): Map<string, string> {
  const manifest = {
    name: '@glovebox/sdk',
    type: 'module',
    exports: { '.': `./${moduleFile('index')}`, './testing': `./${moduleFile('testing')}` },
  };
  return new Map([
    ['package.json', `${JSON.stringify(manifest)}\n`],
    ...runtimeModules.map((name): [string, string] => [moduleFile(name), read(moduleFile(name))]),
  ]);
}

/**
 * The tsconfig.json by which validation checks types: an author's settings with everything that they leave to the package
 * nailed down. It belongs outside of the package, and checks nothing by itself: who extends it names the files.
 *
 * @param places the directory with `@types`, and that of `sdkTypeDeclarations`.
 */
export function typeCheckConfig(places: { typePackages: string; sdkTypes: string }): string {
  const config = {
    compilerOptions: {
      ...compilerOptions,
      typeRoots: [`${places.typePackages}/@types`],
      paths: {
        '@glovebox/sdk': [`${places.sdkTypes}/index.d.ts`],
        '@glovebox/sdk/testing': [`${places.sdkTypes}/testing.d.ts`],
      },
    },
    files: [],
  };
  return `${JSON.stringify(config)}\n`;
}

/**
 * The text of the type declarations of `@glovebox/sdk` and `@glovebox/sdk/testing`. The second one imports the first as
 * `./index.d.ts`; neither imports anything else.
 */
export function sdkTypeDeclarations(): { index: string; testing: string } {
  const index = read(`api.${typesExtension}`);
  const testing = read(`testing-api.${typesExtension}`).replace(/'\.\/api\.(ts|js)'/, "'./index.d.ts'");
  return { index, testing };
}

/**
 * Everything of the SDK that belongs into an author's package beside what the author writes: types, and what makes its
 * tests run offline. None of it is part of the node: all of it is ignored by git and by Glovebox, and may be written again
 * at any time.
 *
 * `@glovebox/sdk` is resolved in two ways: by a hook, as `npm test` starts Node.js, and by a package in `node_modules`
 * for a plain `node --test`, which is there until npm removes what it does not know.
 *
 * @returns path in the package → text.
 */
export function sdkPackageFiles(): Map<string, string> {
  const types = sdkTypeDeclarations();
  const files = new Map([
    ['.glovebox/types/index.d.ts', types.index],
    ['.glovebox/types/testing.d.ts', types.testing],
    ['.glovebox/register.mjs', registerHook],
    ['.glovebox/sdk/package.json', '{ "type": "module" }\n'],
    ['node_modules/@glovebox/sdk/package.json', linkManifest],
    ['node_modules/@glovebox/sdk/index.js', linkTo('index')],
    ['node_modules/@glovebox/sdk/testing.js', linkTo('testing')],
  ]);
  for (const name of runtimeModules) files.set(`.glovebox/sdk/${moduleFile(name)}`, read(moduleFile(name)));
  return files;
}

const registerHook = `// Made by glovebox: lets tests import '@glovebox/sdk' without installing it.
import { registerHooks } from 'node:module';

const entries = {
  '@glovebox/sdk': new URL('./sdk/index.${codeExtension}', import.meta.url).href,
  '@glovebox/sdk/testing': new URL('./sdk/testing.${codeExtension}', import.meta.url).href,
};

registerHooks({
  resolve: (specifier, context, next) =>
    Object.hasOwn(entries, specifier) ? { url: entries[specifier], shortCircuit: true } : next(specifier, context),
});
`;

const linkManifest = `${JSON.stringify(
  {
    name: '@glovebox/sdk',
    version: '0.1.0',
    description: 'Made by glovebox: leads to .glovebox/sdk.',
    private: true,
    type: 'module',
    exports: { '.': './index.js', './testing': './testing.js' },
  },
  null,
  2,
)}\n`;

const linkTo = (name: 'index' | 'testing'): string =>
  `export * from '../../../.glovebox/sdk/${name}.${codeExtension}';\n`;
