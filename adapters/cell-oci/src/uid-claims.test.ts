import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newCellId, newInstanceId } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readOwnMark } from './ownership.ts';
import { openUidClaims, uidRange } from './uid-claims.ts';

let home: string;
let directory: string;
const mark = readOwnMark(newInstanceId());
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-claims-'));
  directory = join(home, 'uids');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('a uid claim', () => {
  it('is a pair that no other claim of any driver has', () => {
    const drivers = [openUidClaims(directory), openUidClaims(directory)];
    const claims = Array.from({ length: 100 }, (_, i) => drivers[i % 2]?.claim(newCellId(), mark));
    const ids = claims.flatMap((claim) => [claim?.rootId, claim?.cellId]);
    expect(new Set(ids).size).toBe(200);
    for (const id of ids) {
      expect(id).toBeGreaterThanOrEqual(0x7000_0000);
      expect(id).toBeLessThan(0x7000_0000 + 2 * uidRange.cells);
    }
  });

  it('holds its owner from the first moment and leaves nothing when it is released', () => {
    const claims = openUidClaims(directory);
    const cell = newCellId();
    const claim = claims.claim(cell, mark);
    expect(claims.list()).toMatchObject([
      { path: claim.path, uids: [claim.rootId, claim.cellId], name: { cell, ...mark } },
    ]);
    claims.release(claim);
    expect(readdirSync(home)).toEqual([]);
  });

  it('is not taken away by a second sweep that judged the one before it', () => {
    const claims = openUidClaims(directory);
    const old = claims.claim(newCellId(), mark);
    const seen = { path: old.path, name: old.name };
    claims.release(seen);
    // Another cell gets the same number before the second sweep acts on what it saw.
    const successor = newCellId();
    mkdirSync(join(old.path, `${successor}-name`), { recursive: true });
    claims.release(seen);
    expect(readdirSync(old.path)).toEqual([`${successor}-name`]);
  });

  it('is refused when every number is taken, and given when one is free', () => {
    const claims = openUidClaims(directory, 4);
    const taken = Array.from({ length: 4 }, () => claims.claim(newCellId(), mark));
    expect(() => claims.claim(newCellId(), mark)).toThrow(expect.objectContaining({ code: 'UID_RANGE_EXHAUSTED' }));
    expect(readdirSync(directory).sort()).toEqual(['0', '1', '2', '3']);
    const [first] = taken;
    if (first !== undefined) claims.release(first);
    expect(claims.claim(newCellId(), mark)).toMatchObject({ rootId: first?.rootId, cellId: first?.cellId });
  });

  it('takes the place of an empty directory that a sweep was about to remove, and of nothing else', () => {
    mkdirSync(directory, { mode: 0o700 });
    writeFileSync(join(directory, '0'), '');
    symlinkSync('/etc', join(directory, '1'));
    mkdirSync(join(directory, '2', 'illegible'), { recursive: true });
    mkdirSync(join(directory, '3'));
    const claims = openUidClaims(directory, 4);
    expect(claims.claim(newCellId(), mark).path).toBe(join(directory, '3'));
    expect(() => claims.claim(newCellId(), mark)).toThrow(expect.objectContaining({ code: 'UID_RANGE_EXHAUSTED' }));
  });

  it('is never made in a directory that others can write to', () => {
    mkdirSync(directory);
    chmodSync(directory, 0o770);
    expect(() => openUidClaims(directory).claim(newCellId(), mark)).toThrow(
      expect.objectContaining({ code: 'HOST_UNSUPPORTED' }),
    );
    chmodSync(directory, 0o700);
    expect(openUidClaims(directory).claim(newCellId(), mark).cellId).toBeGreaterThan(uidRange.first);
  });

  it('is not read through a link', () => {
    mkdirSync(directory, { mode: 0o700 });
    const elsewhere = join(home, 'elsewhere');
    mkdirSync(join(elsewhere, 'entry'), { recursive: true });
    symlinkSync(elsewhere, join(directory, '3'));
    expect(openUidClaims(directory).list()).toEqual([]);
    expect(existsSync(join(elsewhere, 'entry'))).toBe(true);
  });
});
