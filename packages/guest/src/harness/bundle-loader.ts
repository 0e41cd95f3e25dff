import type { Job } from '@glovebox/contract';
import { type Control, paths, textOfBody } from './control.ts';
import { sha256Hex } from './sha256.ts';

/** Where the bundle seems to be. There is no such file: its text is handed to the loader of Node.js from memory. */
const bundleUrl = 'file:///glovebox/bundle.mjs';

/** Fetch the bundle and check that it is the one of the job. @returns its text. */
export async function fetchBundle(control: Control, expected: Job['bundle']): Promise<string> {
  const { status, body } = await control.get(paths.bundle);
  if (status !== 200) throw new Error(`the host answered ${status} to the bundle request`);
  if (body.length !== expected.sizeBytes)
    throw new Error(`the bundle has ${body.length} bytes, not ${expected.sizeBytes}`);
  const digest = `sha256:${sha256Hex(body)}`;
  if (digest !== expected.digest) throw new Error(`the bundle has the digest ${digest}, not ${expected.digest}`);
  return textOfBody(body);
}

/**
 * Load the bundle as an ES module, as if it lay at `bundleUrl`. Author code begins to run here.
 *
 * The hooks are those of this thread, and are there for this one load.
 */
export function importBundle(text: string): Promise<{ readonly default?: unknown }> {
  const hooks = process.getBuiltinModule('node:module').registerHooks({
    resolve: (specifier, context, next) =>
      specifier === bundleUrl ? { url: bundleUrl, format: 'module', shortCircuit: true } : next(specifier, context),
    load: (url, context, next) => {
      if (url !== bundleUrl) return next(url, context);
      hooks.deregister();
      return { format: 'module', source: text, shortCircuit: true };
    },
  });
  // Not a literal, or the bundler of the harness would look for the file.
  const url: string = bundleUrl;
  return withoutWarning(() => import(url) as Promise<{ readonly default?: unknown }>);
}

/**
 * Node.js warns of how the harness, made from bytecode, is let to import. It would tell it when author code is there
 * already, by a method of `process` that may have been replaced by then.
 */
function withoutWarning<T>(action: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return action();
  } finally {
    process.emitWarning = emitWarning;
  }
}
