import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { GloveboxError } from '@glovebox/contract';

/** What tools make at the root of a package; a change of it changes nothing of the node. */
const made: ReadonlySet<string> = new Set(['node_modules', 'dist']);
/** Editors write a file in several steps; what comes within this time is one change. */
const settleMs = 60;
/** Far more than a package may have; what is beyond is not watched. */
const maxDirectories = 512;

/** Names of what editors and tools keep beside files: swap files, locks, copies, `.git`. */
const isAside = (name: string): boolean => name.startsWith('.') || name.endsWith('~');

/**
 * Tell of changes below a package directory, until the signal is aborted: once for each burst of them. Changes that come
 * while nobody waits are told at the next wait. A directory that is removed is a change too, and the last one.
 *
 * @throws GloveboxError `HOST_UNSUPPORTED` where the host has no watch left.
 */
export async function* changesOf(dir: string, signal: AbortSignal): AsyncGenerator<void> {
  const aborted = new Promise<'aborted'>((resolve) => {
    if (signal.aborted) resolve('aborted');
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true });
  });
  const tree = new WatchedTree(dir);
  try {
    for (;;) {
      if ((await Promise.race([tree.changed, aborted])) === 'aborted') return;
      await new Promise((resolve) => setTimeout(resolve, settleMs));
      tree.renew();
      yield;
    }
  } finally {
    tree.close();
  }
}

/**
 * Watches each directory, and not each file: a file that is replaced by a rename, as many editors save, is a change of its
 * directory. Links are not followed.
 */
class WatchedTree {
  readonly #root: string;
  readonly #watchers = new Map<string, FSWatcher>();
  #change = Promise.withResolvers<void>();

  constructor(root: string) {
    this.#root = resolve(root);
    this.#watchBelow(this.#root);
  }

  /** Resolves once something has changed since the last renewal. */
  get changed(): Promise<void> {
    return this.#change.promise;
  }

  /** Forget what has changed, and watch what is new. Done before the files are read, so that nothing falls between. */
  renew(): void {
    this.#change = Promise.withResolvers();
    this.#watchBelow(this.#root);
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watchBelow(dir: string): void {
    if (!this.#watchers.has(dir) && !this.#watch(dir)) return;
    let names: string[];
    try {
      names = readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    } catch {
      return;
    }
    for (const name of names) if (!this.#isLeftOut(dir, name)) this.#watchBelow(join(dir, name));
  }

  /** @returns whether it is watched now. */
  #watch(dir: string): boolean {
    if (this.#watchers.size >= maxDirectories) return false;
    try {
      const watcher = watch(dir, (_event, name) => {
        // The directory itself was moved or removed: another one may stand in its place by now.
        if (name === basename(dir)) this.#forget(dir);
        else if (name === null || !this.#isLeftOut(dir, name)) this.#change.resolve();
      });
      watcher.on('error', () => this.#forget(dir));
      this.#watchers.set(dir, watcher);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // It went while it was looked at, which its own directory tells.
      if (code === 'ENOENT' || code === 'ENOTDIR') return false;
      throw new GloveboxError('HOST_UNSUPPORTED', {
        message: `${dir} cannot be watched: ${code}.`,
        hint: 'End other watchers, or raise fs.inotify.max_user_instances and fs.inotify.max_user_watches.',
        place: { file: dir },
        cause: error,
      });
    }
  }

  /** What is there then is looked for at the next renewal. */
  #forget(dir: string): void {
    this.#watchers.get(dir)?.close();
    this.#watchers.delete(dir);
    this.#change.resolve();
  }

  #isLeftOut(dir: string, name: string): boolean {
    return isAside(name) || (dir === this.#root && made.has(name));
  }
}
