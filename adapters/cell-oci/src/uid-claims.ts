import { lstatSync, mkdirSync, readdirSync, readlinkSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { CellId } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract';
import { errnoOf, hostError } from './host-errors.ts';
import { formatOwnedName, type OwnedName, type OwnerMark, parseOwnedName } from './ownership.ts';

/**
 * Host uids (and equal gids) for cells: two each, one for container id 0 and one for the cell's own id. The range lies
 * above what systemd gives to containers (524288–1879048191), above the default of /etc/subuid (100000–600165535), and
 * below 2^31, where some programs err. An administrator who allots uids in it by hand must not.
 */
export const uidRange = { first: 0x7000_0000, cells: 16_384 } as const;

export interface UidClaim {
  /** Host uid and gid of container id 0, which only the runtime's set-up uses. */
  rootId: number;
  /** Host uid and gid of the cell's process. */
  cellId: number;
  readonly path: string;
}

/**
 * A claim is a symbolic link, named by its number, whose target is the owned name: making it is one step that fails when
 * the number is taken, and it has its content from the first moment. Links in the directory are never followed.
 */
export interface UidClaims {
  /** @throws GloveboxError `UID_RANGE_EXHAUSTED`, `HOST_UNSUPPORTED`, `DISK_FULL`. */
  claim(cell: CellId, mark: OwnerMark): UidClaim;
  /** Only after the cell is confirmed dead. A claim that is gone already is no error. */
  release(claim: Pick<UidClaim, 'path'>): void;
  /** Every claim on this host. `name` is undefined where it cannot be read; such a claim is never taken over. */
  list(): { path: string; uids: [number, number] | undefined; name: OwnedName | undefined }[];
}

/** @param directory for the whole host, the same for every data directory; owned by root, 0700. */
export function openUidClaims(directory: string): UidClaims {
  return {
    claim(cell, mark) {
      const target = formatOwnedName(cell, mark);
      makeDirectory(directory);
      const start = Math.floor(Math.random() * uidRange.cells);
      for (let tried = 0; tried < uidRange.cells; tried++) {
        const slot = (start + tried) % uidRange.cells;
        const path = join(directory, String(slot));
        if (makeLink(directory, path, target)) return { path, rootId: firstUid(slot), cellId: firstUid(slot) + 1 };
      }
      throw new GloveboxError('UID_RANGE_EXHAUSTED');
    },

    release(claim) {
      try {
        unlinkSync(claim.path);
      } catch (thrown) {
        if (errnoOf(thrown) !== 'ENOENT') throw hostError(thrown, 'HOST_UNSUPPORTED', 'Cannot release a uid');
      }
      removeIfEmpty(directory);
    },

    list() {
      return readNames(directory).map((fileName) => {
        const path = join(directory, fileName);
        const slot = /^\d{1,5}$/.test(fileName) ? Number(fileName) : Number.NaN;
        return {
          path,
          uids: slot < uidRange.cells ? [firstUid(slot), firstUid(slot) + 1] : undefined,
          name: readName(path),
        };
      });
    },
  };
}

const firstUid = (slot: number): number => uidRange.first + 2 * slot;

/** @returns false when the number is taken. Another process may remove the empty directory at any moment: make it again. */
function makeLink(directory: string, path: string, target: string): boolean {
  for (let attempt = 0; ; attempt++) {
    try {
      symlinkSync(target, path);
      return true;
    } catch (thrown) {
      const errno = errnoOf(thrown);
      if (errno === 'EEXIST') return false;
      if (errno !== 'ENOENT' || attempt === 100) throw hostError(thrown, 'HOST_UNSUPPORTED', 'Cannot claim a uid');
      makeDirectory(directory);
    }
  }
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const stat = lstatSync(directory);
    // Whoever can write here can make two cells share a uid.
    if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0) {
      throw new GloveboxError('HOST_UNSUPPORTED', {
        message: `${directory} must be a directory of root's with mode 0700.`,
      });
    }
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return;
    throw hostError(thrown, 'HOST_UNSUPPORTED', `Cannot make ${directory}`);
  }
}

/** Leave no directory behind: with the last claim it goes. */
function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Others have claims in it.
  }
}

function readNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return [];
    throw hostError(thrown, 'HOST_UNSUPPORTED', `Cannot read ${directory}`);
  }
}

function readName(path: string): OwnedName | undefined {
  try {
    return parseOwnedName(readlinkSync(path));
  } catch {
    return undefined;
  }
}
