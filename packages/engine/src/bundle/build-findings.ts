import { isBuiltin } from 'node:module';
import type { Finding, Place } from '@glovebox/contract';
import { sdkName } from '../builder-cell/build-inputs.ts';
import type { LockedPackage } from '../ports.ts';
import { printable } from '../printable.ts';
import { type BuilderLayout, sdkPath } from './build-options.ts';
import type { BuildMessage } from './esbuild-service.ts';

export const supportedFileTypes = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json', '.txt'];

/** An error or warning of the bundler as a finding with the author's file, line and column. */
export function messageFinding(
  message: BuildMessage,
  severity: Finding['severity'],
  dependencies: readonly LockedPackage[],
  layout: BuilderLayout,
): Finding {
  return {
    rule: 'BUILD_FAILED',
    severity,
    // Where the SDK lies in a cell is nothing that an author knows.
    message: printable(message.text.replaceAll(`${sdkPath(layout)}/index.js`, sdkName), 500),
    hint: messageHint(message, dependencies),
    place: messagePlace(message),
  };
}

function messagePlace({ location }: BuildMessage): Place {
  if (location === null) return { file: 'src/index.ts' };
  // esbuild counts columns from 0 and in bytes of UTF-8.
  const before = Buffer.from(location.lineText.slice(0, location.column)).subarray(0, location.column).toString('utf8');
  return {
    file: printable(location.file),
    line: Math.max(1, location.line),
    column: Math.max(0, before.length) + 1,
  };
}

function messageHint(message: BuildMessage, dependencies: readonly LockedPackage[]): string {
  const unresolved = /^Could not resolve "([^"]*)"/.exec(message.text)?.[1];
  if (unresolved !== undefined) return unresolvedHint(unresolved, message.location?.file ?? '', dependencies);
  const type = /^No loader is configured for "([^"]*)" files/.exec(message.text)?.[1];
  if (type !== undefined) return fileTypeHint(type);
  return 'Correct the source at this place.';
}

export function fileTypeHint(type: string): string {
  if (type === '.wasm') return 'WebAssembly is not available to nodes yet. Use a package in plain JavaScript.';
  if (type === '.node') return 'Cells run no native code. Use a package in plain JavaScript.';
  return `A bundle is made of ${supportedFileTypes.join(', ')}. Turn other files into one of these.`;
}

function unresolvedHint(specifier: string, importer: string, dependencies: readonly LockedPackage[]): string {
  if (specifier.startsWith('.')) return 'There is no such file in the package. Check the spelling, and its case.';
  if (specifier.startsWith('#')) return 'The imports field of package.json has no such entry.';
  if (specifier.startsWith('/') || /^[a-z][a-z0-9+.-]*:/i.test(specifier)) {
    return 'Import files of the package by a relative path, packages by their name, built-ins by node: and their name.';
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  if (isBuiltin(name)) return `Node.js has ${name}, but not ${printable(specifier, 100)}.`;
  if (importer.startsWith('node_modules/'))
    return 'A dependency needs this package, but package-lock.json does not have it for it.';
  if (dependencies.some((locked) => locked.path === `node_modules/${name}`)) {
    return `${name} is there, but does not offer this path. See the exports in its package.json.`;
  }
  return `Add ${printable(name, 100)} to dependencies in package.json and run npm install --package-lock-only. It is no built-in of Node.js.`;
}
