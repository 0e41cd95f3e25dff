import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { isAbandoned, judgeMaker, removeAbandoned, stagedName } from './staging.ts';

/**
 * Which process may act on what others left in a data directory: mark their attempts lost, end their validations, sweep
 * and collect. All others work through short transactions, and touch only what they began themselves.
 *
 * The claim is a directory `owner` that holds one directory, named by boot, pid namespace, pid and start time of the
 * owner. It is made aside and renamed into place: the rename fails where a name is held, and a claim never exists without
 * one. It is taken over from an owner that is dead by positive observation, and by removing its name first: of two that
 * judged the same dead owner, one gets the place, and neither can remove the claim of who came meanwhile. A claim that
 * cannot be read, judged or written belongs to another.
 */
export interface Ownership {
  /** Cheap, and to be repeated: whether this process is the owner now, by this call or an earlier one. Never throws. */
  claim(): boolean;
  /**
   * The path of a claim of which nobody can tell from here whether its process lives, such as one of another container; it
   * stands until the host is started anew. Whoever knows that the process is gone may remove it. Never throws.
   */
  unjudged(): string | undefined;
  /** Let another have it. What cannot be removed is taken over when this process has ended. */
  release(): void;
}

const aside = '.owner.';

/** @param runDirectory `run` of the data directory; made, for its owner only, where it is not there. */
export function openOwnership(runDirectory: string): Ownership {
  const place = join(runDirectory, 'owner');
  let held: string | undefined;
  return {
    claim() {
      if (held !== undefined) return true;
      try {
        held = take(runDirectory, place);
      } catch {
        // A directory that may not be written, a full disk: who cannot claim recovers nothing.
      }
      return held !== undefined;
    },
    unjudged() {
      try {
        return isUnjudged(place) ? place : undefined;
      } catch {
        return place;
      }
    },
    release() {
      if (held === undefined) return;
      removeName(place, held);
      held = undefined;
    },
  };
}

/** @returns the name under which it is ours; undefined when another has it. */
function take(runDirectory: string, place: string): string | undefined {
  mkdirSync(runDirectory, { recursive: true, mode: 0o700 });
  if (!isFree(place)) return undefined;
  // What claims left that were killed half-made.
  removeAbandoned(runDirectory, aside);
  const name = stagedName();
  const made = join(runDirectory, `${aside}${name}`);
  mkdirSync(join(made, name), { recursive: true, mode: 0o700 });
  try {
    renameSync(made, place);
    return name;
  } catch {
    removeName(made, name);
    return undefined;
  }
}

/** Whether nobody has it, or the dead owner's name could be taken away. */
function isFree(place: string): boolean {
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat === undefined) return true;
  if (!stat.isDirectory()) return false;
  const names = readdirSync(place);
  // All or none: beside a name that cannot be judged, the claim is not ours to touch.
  if (!names.every(isAbandoned)) return false;
  for (const name of names) rmdirQuietly(join(place, name));
  return true;
}

function isUnjudged(place: string): boolean {
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  return !stat.isDirectory() || readdirSync(place).some((name) => judgeMaker(name) === 'unknown');
}

function removeName(directory: string, name: string): void {
  rmdirQuietly(join(directory, name));
  // Only where nobody has put a name there meanwhile: a directory that is not empty stays.
  rmdirQuietly(directory);
}

function rmdirQuietly(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Gone, in use, or not ours to remove.
  }
}
