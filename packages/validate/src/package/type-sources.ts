import type { Json } from '@glovebox/contract';
import { Findings } from '../findings.ts';
import { readJsonFile } from '../json/read.ts';
import { ToldOf } from '../json/told.ts';
import { isObject } from '../json/value.ts';
import { dotted, packageJsonFile, packageJsonLimits } from './package-json.ts';

/** Files that the type checker, the bundler or Node.js resolves imports of, or to. */
const codeFile = /\.(?:[cm]?[jt]s|[jt]sx)$/i;

/** What TypeScript takes for the source of `name.js` is `name.ts`, even where both are there. */
const sourceFile = /^(.*[^/])\.(?:ts|tsx|(m)ts|(c)ts)$/;

/** The bundler looks for these before it looks for the source. */
const addedExtensions = ['', '.ts', '.js', '.json'];

/**
 * Tell of everything in a package that leads the type check to another file than the one that runs: JavaScript beside
 * TypeScript of its name, and conditions of `imports` and `exports` that the type checker alone obeys.
 *
 * A package.json below the package's own counts for the code beside and below it, and is read for that alone.
 */
export function tellTypeSources(files: ReadonlyMap<string, Uint8Array>, findings: Findings): void {
  tellTwins(files, findings);
  const code = [...files.keys()].filter((path) => codeFile.test(path));
  for (const [path, bytes] of files) {
    if (path !== packageJsonFile && !path.endsWith(`/${packageJsonFile}`)) continue;
    const directory = path.slice(0, -packageJsonFile.length);
    if (code.some((file) => file.startsWith(directory))) tellConditions(path, bytes, findings);
  }
}

function tellTwins(files: ReadonlyMap<string, Uint8Array>, findings: Findings): void {
  for (const path of files.keys()) {
    const [, stem, m = '', c = ''] = sourceFile.exec(path) ?? [];
    if (stem === undefined) continue;
    for (const script of [`${stem}.${m}${c}js`, ...(m + c === '' ? [`${stem}.jsx`] : [])]) {
      const twin = addedExtensions.map((extension) => script + extension).find((other) => files.has(other));
      if (twin === undefined) continue;
      const message = `${twin} is what would run where ${path} is what is checked`;
      const hint = 'Keep one of them. With the TypeScript file alone, import that by its own name.';
      findings.error('PACKAGE_INVALID', message, { file: twin }, hint);
    }
  }
}

function tellConditions(file: string, bytes: Uint8Array, findings: Findings): void {
  // That its own is no JSON is told by who reads all of it.
  const faults = file === packageJsonFile ? new Findings() : findings;
  const json = readJsonFile(file, bytes, packageJsonLimits, 'PACKAGE_JSON_INVALID', faults);
  if (json === undefined || !isObject(json.value)) return;
  const told = new ToldOf(json);
  for (const field of ['imports', 'exports']) {
    for (const path of conditionsIn(json.value[field], [field])) {
      const message = `${dotted(path)}: leads the type check to another file than the one that runs`;
      const hint = 'Remove it. Declarations of a JavaScript file are found beside it: name.d.ts for name.js.';
      told.tell({ rule: 'PACKAGE_JSON_INVALID', path, message, hint, at: 'key' });
    }
  }
  told.report(findings);
}

/** Paths of the members named `types`, or `types@` and a range of compilers, however deep. */
function conditionsIn(value: Json | undefined, path: string[]): string[][] {
  if (Array.isArray(value)) return value.flatMap((item, index) => conditionsIn(item, [...path, `${index}`]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, target]) =>
    name === 'types' || name.startsWith('types@') ? [[...path, name]] : conditionsIn(target, [...path, name]),
  );
}
