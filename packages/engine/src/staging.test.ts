import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeAbandoned, stagedName } from './staging.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'glovebox-staging-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A name as a process that has ended would have chosen it. */
function deadName(): string {
  const module = new URL('./staging.ts', import.meta.url).href;
  const child = spawnSync(process.execPath, [
    '-e',
    `import(${JSON.stringify(module)}).then((m) => process.stdout.write(m.stagedName()))`,
  ]);
  return child.stdout.toString();
}

describe('what was being made when its maker died', () => {
  it('is removed, files and directories alike, and what a living process makes stays', () => {
    const dead = deadName();
    const alive = stagedName();
    expect(dead).toMatch(/^[0-9a-f-]{36}\.\d+\.\d+\.\d+\.[0-9a-f]{16}$/);
    writeFileSync(join(dir, dead), 'half');
    mkdirSync(join(dir, `${dead.slice(0, -16)}0123456789abcdef`, 'inside'), { recursive: true });
    writeFileSync(join(dir, alive), 'half');
    removeAbandoned(dir);
    expect(readdirSync(dir)).toEqual([alive]);
  });

  it('is told by its whole name: another prefix, another form and another directory are left alone', () => {
    const dead = deadName();
    const kept = [`.other.${dead}`, `${dead}.txt`, dead.slice(0, -1), 'notes.txt'].sort();
    for (const name of [...kept, `.mine.${dead}`]) writeFileSync(join(dir, name), '');
    removeAbandoned(dir, '.mine.');
    expect(readdirSync(dir).sort()).toEqual(kept);
    expect(() => removeAbandoned(join(dir, 'nowhere'))).not.toThrow();
  });

  it('is told by boot and start time too, so that a number that was given again spares nothing, and stays where its number does not count', () => {
    const [bootId = '', namespace = '', pid = '', ticks = '', random = ''] = stagedName().split('.');
    const names = [
      `${bootId}.${namespace}.${pid}.${Number(ticks) + 1}.${random}`,
      `${bootId.replace(/^./, (c) => (c === '0' ? '1' : '0'))}.${namespace}.${pid}.${ticks}.${random}`,
    ];
    const elsewhere = `${bootId}.1.${pid}.${Number(ticks) + 1}.${random}`;
    for (const name of [...names, elsewhere]) writeFileSync(join(dir, name), '');
    removeAbandoned(dir);
    expect(readdirSync(dir)).toEqual([elsewhere]);
  });
});
