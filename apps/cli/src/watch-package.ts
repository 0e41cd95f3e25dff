import { watch } from 'node:fs';
import { sep } from 'node:path';

/** What tools make at the root of a package; a change of it changes nothing of the node. */
const made: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.glovebox']);

/** Editors write a file in several steps; what comes within this time is one change. */
const settleMs = 60;

/**
 * Tell of changes below a package directory, until the signal is aborted: once for each burst of them. Changes that come
 * while nobody waits are told at the next wait.
 */
export async function* changesOf(dir: string, signal: AbortSignal): AsyncGenerator<void> {
  let changed = Promise.withResolvers<void>();
  const watcher = watch(dir, { recursive: true }, (_event, name) => {
    if (name === null || !made.has(name.split(sep)[0] ?? '')) changed.resolve();
  });
  const aborted = new Promise<'aborted'>((resolve) => {
    if (signal.aborted) resolve('aborted');
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true });
  });
  watcher.on('error', () => changed.resolve());
  try {
    for (;;) {
      if ((await Promise.race([changed.promise, aborted])) === 'aborted') return;
      await new Promise((resolve) => setTimeout(resolve, settleMs));
      changed = Promise.withResolvers<void>();
      yield;
    }
  } finally {
    watcher.close();
  }
}
