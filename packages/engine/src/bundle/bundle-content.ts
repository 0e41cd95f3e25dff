import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { type Finding, GloveboxError, type Json, parseJson } from '@glovebox/contract';
import { buildLimits } from '@glovebox/contract/build-limits';
import { z } from 'zod';
import type { NodePackage } from '../ports.ts';
import { printable } from '../printable.ts';
import { fileTypeHint, supportedFileTypes } from './build-findings.ts';
import { type BuilderLayout, bundleEntry, bundleFile, sdkPath } from './build-options.ts';

const importRecord = z.looseObject({ path: z.string(), kind: z.string(), external: z.boolean().optional() });
const metafileSchema = z.looseObject({
  inputs: z.record(
    z.string(),
    z.looseObject({ imports: z.array(importRecord), with: z.record(z.string(), z.string()).optional() }),
  ),
  outputs: z.record(z.string(), z.looseObject({ imports: z.array(importRecord).optional() })),
});
export type Metafile = z.infer<typeof metafileSchema>;

/** @throws GloveboxError `CHANNEL_CORRUPTED`: esbuild of ours does not write another one. */
export function parseMetafile(bytes: Uint8Array): { metafile: Metafile; json: Json } {
  const parsed = parseJson(new TextDecoder().decode(bytes), { maxBytes: buildLimits.metafileBytes, maxDepth: 16 });
  const checked = parsed.ok ? metafileSchema.safeParse(parsed.value) : undefined;
  if (!parsed.ok || !checked?.success) {
    throw new GloveboxError('CHANNEL_CORRUPTED', { message: 'The bundler wrote a metafile that is not one.' });
  }
  return { metafile: checked.data, json: parsed.value };
}

/** Findings of one bundle; a source can name a hundred thousand modules that are not there. */
const maxFindings = 100;

/**
 * Whether everything in a bundle is accounted for: each input is a file of the author, a file of a package that the
 * lockfile names, or the SDK; of a type that belongs in a bundle; and what is left to load at run time is built into
 * Node.js.
 *
 * It closes what a list of refused imports would leave open: absolute paths, `..` out of the package, packages inside of
 * packages, `data:` and `https:` imports, WebAssembly under another name.
 */
export function checkBundleContent(
  metafile: Metafile,
  pkg: Pick<NodePackage, 'files' | 'dependencies'>,
  webAssembly: readonly string[],
  layout: BuilderLayout,
): Finding[] {
  const findings: Finding[] = [];
  const locked = new Set(pkg.dependencies.map((dependency) => dependency.path));
  const wasm = new Set(webAssembly);
  const sdkPrefix = `${sdkPath(layout)}/`;
  for (const [path, input] of Object.entries(metafile.inputs)) {
    if (findings.length >= maxFindings) return findings;
    const origin = path.startsWith(sdkPrefix) ? 'sdk' : originOf(path, pkg.files, locked);
    if (origin === 'unknown') findings.push(foreign(path));
    else if (wasm.has(path)) findings.push(refusedType(origin, path, '.wasm'));
    else {
      const type = posix.extname(path);
      if (type === '.node' || type === '.wasm') findings.push(refusedType(origin, path, type));
      else if (type !== '' && !supportedFileTypes.includes(type) && input.with?.type === undefined) {
        findings.push(refusedType(origin, path, type));
      }
    }
  }
  const importers = importersOf(metafile);
  // By the output, not by the inputs: there an import of which only types are used counts as external, and is dropped.
  for (const { path: target, kind, external } of metafile.outputs[bundleFile]?.imports ?? []) {
    if (findings.length >= maxFindings) return findings;
    // A require or import() in a try block may name what is not there; it fails at run time, as its caller expects.
    if (external && kind === 'import-statement' && !isBuiltin(target) && target !== '<runtime>') {
      findings.push(notBuiltIn(importers.get(target) ?? bundleEntry, target));
    }
  }
  for (const output of Object.keys(metafile.outputs)) {
    if (output !== bundleFile && output !== `${bundleFile}.map` && findings.length === 0) {
      findings.push(refusedType('author', output, posix.extname(output.replace(/\.map$/, ''))));
    }
  }
  return findings;
}

type Origin = 'author' | 'dependency' | 'sdk' | 'unknown';

function originOf(path: string, authorFiles: ReadonlyMap<string, Uint8Array>, locked: ReadonlySet<string>): Origin {
  if (!path.startsWith('node_modules/')) return authorFiles.has(path) ? 'author' : 'unknown';
  // The innermost node_modules must be the place of a locked package: a directory of that name which an archive brings
  // would give code that no lockfile names.
  const inner = path.lastIndexOf('/node_modules/');
  const nameStart = inner === -1 ? 'node_modules/'.length : inner + '/node_modules/'.length;
  const components = path.slice(nameStart).split('/');
  const name = components.slice(0, components[0]?.startsWith('@') ? 2 : 1).join('/');
  return locked.has(path.slice(0, nameStart) + name) ? 'dependency' : 'unknown';
}

/** Of each external import, the first input that has it. In one pass: looking for each would take the square of their number. */
function importersOf(metafile: Metafile): Map<string, string> {
  const importers = new Map<string, string>();
  for (const [importer, { imports }] of Object.entries(metafile.inputs)) {
    for (const { path, external, kind } of imports) {
      if (external && kind === 'import-statement' && !importers.has(path)) importers.set(path, importer);
    }
  }
  return importers;
}

function foreign(path: string): Finding {
  return {
    rule: 'BUILD_FAILED',
    severity: 'error',
    message: `${printable(path, 200)} would be part of the bundle, but is no file of the package, of a locked dependency or of the SDK.`,
    hint: 'Import files of the package by relative paths that stay in it, and packages by the names that the lockfile has.',
    place: { file: printable(path) },
  };
}

function refusedType(origin: Exclude<Origin, 'unknown'>, path: string, type: string): Finding {
  return {
    rule: origin === 'dependency' ? 'DEPENDENCY_REFUSED' : 'BUILD_FAILED',
    severity: 'error',
    message: `${printable(path, 200)} is ${type === '.wasm' ? 'WebAssembly' : `a ${printable(type, 20)} file`}, which cannot be part of a bundle.`,
    hint: fileTypeHint(type),
    place: { file: printable(path) },
  };
}

function notBuiltIn(importer: string, target: string): Finding {
  return {
    rule: 'BUILD_FAILED',
    severity: 'error',
    message: `${JSON.stringify(printable(target, 200))} is imported, but is neither a file, nor a package, nor built into Node.js.`,
    hint: 'Import packages by name; nothing is loaded from the network.',
    place: { file: printable(importer) },
  };
}
