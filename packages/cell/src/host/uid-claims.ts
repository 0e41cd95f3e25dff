import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { type CellId, GloveboxError } from '@glovebox/contract';
import { errnoOf, hostError } from './host-errors.ts';
import { formatOwnedName, type OwnedName, type OwnerMark, parseOwnedName } from './ownership.ts';

/**
 * Host uids (and equal gids) for cells: two each, one for container id 0 and one for the cell's own id. The range lies
 * above what systemd gives to containers (524288–1879048191), above the default of /etc/subuid (100000–600165535), and
 * below 2^31, where some programs err. An administrator who allots uids in it by hand must not.
 */
export const uidRange = { first: 0x7000_0000, cells: 16_384 } as const;

/** Where the claims of a whole host are, where nothing else is said. */
export const defaultClaimsDirectory = '/run/glovebox-uids';

export interface UidClaim {
  /** Host uid and gid of container id 0, which only the runtime's set-up uses. */
  rootId: number;
  /** Host uid and gid of the cell's process. */
  cellId: number;
  /** The number itself, from 0, for engines that have ids of their own to give. */
  slot: number;
  readonly path: string;
  /** The owned name that the claim holds. */
  readonly name: string;
}

export interface FoundClaim {
  path: string;
  /** Undefined for a claim that its maker did not finish. */
  uids: [number, number] | undefined;
  /** The name as it stands, and as it reads where it is one of ours. */
  text: string;
  /** Undefined where a keeper has a say in it, too. */
  name: OwnedName | undefined;
  kept: { keeper: string; name: OwnedName } | undefined;
}

/**
 * A claim is a directory, named by its number, that holds one directory with the owned name. It is made aside and renamed
 * into place: that fails when the number holds a name, and a claim never exists without one. A number is freed by
 * removing the name first: of two sweeps that judged the same dead owner only one succeeds, and neither can remove the
 * claim of a cell that got the number meanwhile.
 */
export interface UidClaims {
  /**
   * @param keeper for a cell that may outlive its owner, with ids that no process of this host may show: who must be
   *   asked whether it is gone. Only whoever knows that keeper may release the claim of a dead owner.
   * @throws GloveboxError `UID_RANGE_EXHAUSTED`, `HOST_UNSUPPORTED`, `DISK_FULL`.
   */
  claim(cell: CellId, mark: OwnerMark, keeper?: string): UidClaim;
  /** Only after the cell is confirmed dead. A claim that is gone already is no error. */
  release(claim: { path: string; name: string }): void;
  /** Every claim on this host. A `name` that is undefined is never taken over. */
  list(): FoundClaim[];
  /**
   * Remove directories that hold no name: what an owner leaves that is killed between two steps of a claim or of a release.
   * Whoever is in the middle of one makes it anew.
   */
  removeEmpty(): void;
}

/**
 * @param directory for the whole host, the same for every data directory; owned by root, 0700.
 * @param cells how many numbers there are; the same for every driver.
 */
export function openUidClaims(directory: string, cells: number = uidRange.cells): UidClaims {
  return {
    claim(cell, mark, keeper) {
      const owned = formatOwnedName(cell, mark);
      const name = keeper === undefined ? owned : `${keeper}${keeperEnd}${owned}`;
      const aside = makeAside(directory, name);
      try {
        const start = Math.floor(Math.random() * cells);
        for (let tried = 0; tried < cells; tried++) {
          const slot = (start + tried) % cells;
          const path = join(directory, String(slot));
          if (moveInto(aside, path)) return { path, name, slot, rootId: firstUid(slot), cellId: firstUid(slot) + 1 };
        }
      } catch (thrown) {
        remove(aside, name);
        throw hostError(thrown, 'HOST_UNSUPPORTED', 'Cannot claim a uid');
      }
      remove(aside, name);
      throw new GloveboxError('UID_RANGE_EXHAUSTED');
    },

    release({ path, name }) {
      remove(path, name);
      // Leave no directory behind: with the last claim it goes.
      rmdirIfEmpty(directory);
    },

    list() {
      return readEntries(directory).flatMap((fileName) => {
        const path = join(directory, fileName);
        const slot = /^\d{1,5}$/.test(fileName) ? Number(fileName) : Number.NaN;
        const uids: FoundClaim['uids'] = slot < cells ? [firstUid(slot), firstUid(slot) + 1] : undefined;
        return readEntries(path).map((text) => ({ path, uids, text, ...readName(text) }));
      });
    },

    removeEmpty() {
      for (const fileName of readEntries(directory)) rmdirIfEmpty(join(directory, fileName));
      rmdirIfEmpty(directory);
    },
  };
}

/** No owned name has it. */
const keeperEnd = '@';

function readName(text: string): Pick<FoundClaim, 'name' | 'kept'> {
  const at = text.indexOf(keeperEnd);
  if (at < 0) return { name: parseOwnedName(text), kept: undefined };
  const name = parseOwnedName(text.slice(at + 1));
  return { name: undefined, kept: name === undefined ? undefined : { keeper: text.slice(0, at), name } };
}

const firstUid = (slot: number): number => uidRange.first + 2 * slot;

/** Another process may remove the empty directory of claims at any moment: make it again. */
function makeAside(directory: string, name: string): string {
  const aside = join(directory, `.${name}`);
  for (let attempt = 0; ; attempt++) {
    try {
      makeDirectory(directory);
      mkdirSync(aside);
      mkdirSync(join(aside, name));
      return aside;
    } catch (thrown) {
      if (errnoOf(thrown) === 'ENOENT' && attempt < 100) continue;
      rmdirIfEmpty(aside);
      throw hostError(thrown, 'HOST_UNSUPPORTED', 'Cannot claim a uid');
    }
  }
}

function makeDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const stat = lstatSync(directory);
  // Whoever can write here can make two cells share a uid.
  if (!stat.isDirectory() || stat.uid !== process.geteuid?.() || (stat.mode & 0o077) !== 0) {
    throw new GloveboxError('HOST_UNSUPPORTED', {
      message: `${directory} must be a directory of root's with mode 0700.`,
    });
  }
}

/** @returns false when the number is taken, by a claim or by something that is none. An empty directory is replaced. */
function moveInto(aside: string, path: string): boolean {
  try {
    renameSync(aside, path);
    return true;
  } catch (thrown) {
    if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errnoOf(thrown))) return false;
    throw thrown;
  }
}

function remove(path: string, name: string): void {
  try {
    rmdirSync(join(path, name));
  } catch (thrown) {
    // Freed by another sweep; what is there now is another's.
    if (errnoOf(thrown) === 'ENOENT') return;
    throw hostError(thrown, 'HOST_UNSUPPORTED', 'Cannot release a uid');
  }
  rmdirIfEmpty(path);
}

function rmdirIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // In use again, or gone.
  }
}

/** Names of directories in a directory; links are not followed. */
function readEntries(path: string): string[] {
  try {
    if (!lstatSync(path).isDirectory()) return [];
    return readdirSync(path);
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(thrown))) return [];
    throw hostError(thrown, 'HOST_UNSUPPORTED', `Cannot read ${path}`);
  }
}
