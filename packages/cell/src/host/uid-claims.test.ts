import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
import { basename, join } from 'node:path';
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

  it("tells who keeps it, and by that reads as nobody's to whoever does not know the keeper", () => {
    const claims = openUidClaims(directory);
    const cell = newCellId();
    const kept = claims.claim(cell, mark, 'engine-1');
    expect(claims.list()).toMatchObject([
      { path: kept.path, text: kept.name, name: undefined, kept: { keeper: 'engine-1', name: { cell, ...mark } } },
    ]);
    claims.release(kept);
    const plain = claims.claim(cell, mark);
    expect(claims.list()).toMatchObject([{ text: plain.name, name: { cell }, kept: undefined }]);
    claims.release(plain);
    expect(readdirSync(home)).toEqual([]);
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

  it('leaves what a killed owner had begun to a sweep, which spares what holds a name', () => {
    const claims = openUidClaims(directory);
    const claim = claims.claim(newCellId(), mark);
    mkdirSync(join(directory, '.begun'));
    mkdirSync(join(directory, '16383'));
    mkdirSync(join(directory, '.name', 'illegible'), { recursive: true });
    claims.removeEmpty();
    expect(readdirSync(directory).sort()).toEqual(['.name', basename(claim.path)]);
    claims.release(claim);
    rmSync(join(directory, '.name'), { recursive: true });
    claims.removeEmpty();
    expect(readdirSync(home)).toEqual([]);
  });

  it('is made while another process removes every empty directory that it sees', async () => {
    const remover = spawn(
      '/bin/sh',
      ['-c', 'while :; do rmdir "$1"/.* "$1"/* "$1" 2>/dev/null; done', 'sh', directory],
      {
        stdio: 'ignore',
      },
    );
    try {
      const claims = openUidClaims(directory);
      const ids = new Set<number>();
      for (let i = 0; i < 300; i++) {
        const claim = claims.claim(newCellId(), mark);
        expect(readdirSync(claim.path)).toEqual([claim.name]);
        ids.add(claim.cellId);
        if (i % 2 === 0) claims.release(claim);
      }
      expect(ids.size).toBeGreaterThanOrEqual(150);
    } finally {
      const gone = once(remover, 'exit');
      remover.kill('SIGKILL');
      await gone;
    }
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
