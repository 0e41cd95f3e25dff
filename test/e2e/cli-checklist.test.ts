import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkIds } from '@glovebox/contract';
import { describe, expect, it, vi } from 'vitest';
import { bin } from '../support/cli.ts';
import { hasTerminals, onTerminal, pictureOf } from '../support/terminal.ts';
import { usePackages } from '../support/use-packages.ts';

vi.setConfig({ testTimeout: 240_000 });

const { cli, write, run } = usePackages();
const spinning = "import { test } from 'node:test';\ntest('never ends', () => { for (;;); });\n";

describe.skipIf(!hasTerminals)('the checklist on a terminal', () => {
  const open = (args: string[], size = 'rows 24 cols 80') =>
    onTerminal(['sh', '-c', `stty ${size}; exec "$@"`, 'sh', process.execPath, bin, ...args], {
      cwd: cli().dir,
      env: { GLOVEBOX_DATA_DIR: cli().dataDir, HOME: cli().dataDir },
    });
  const linesOf = (picture: string[], check: string): string[] =>
    picture.filter((line) => new RegExp(`^ {2}\\S ${check}( |$)`).test(line));

  it('is drawn in place: each check once in the end, in order, and the result below it', async () => {
    write('drawn', { 'src/add.ts': "export const add = (a: number, b: number): number => a + b + 'x';\n" });
    const running = open(['node', 'validate', 'drawn']);
    expect(await running.ended).toBe(1);
    const picture = pictureOf(running.shown());
    expect(picture.slice(0, checkIds.length).map((line) => line.split(/\s+/).slice(1, 3).join(' '))).toEqual([
      '✓ package',
      '✓ manifest',
      '✓ lockfile',
      '✗ types',
      '✓ build',
      '✗ tests',
      '✗ fixtures',
    ]);
    for (const check of checkIds) expect({ check, lines: linesOf(picture, check).length }).toEqual({ check, lines: 1 });
    expect(picture[checkIds.length]).toMatch(/^error src\/add\.ts:1:\d+ /);
    expect(picture.join('\n')).toMatch(/^failed {2}default\/drawn {2}4 passed, 3 failed$/m);
    // It was drawn while it went on, and not only in the end.
    expect(running.shown().split('\u001b[J').length).toBeGreaterThan(2);
  });

  it('stays a list when Ctrl-C ends it, and gives way to an error', async () => {
    write('ended', { 'test/never.test.ts': spinning });
    const running = open(['node', 'validate', 'ended']);
    await running.seen(/✓\S* types/);
    const second = open(['node', 'validate', 'ended']);
    expect(await second.ended).toBe(1);
    expect(pictureOf(second.shown())[0]).toMatch(/^error DRAFT_BUSY: /);
    running.type('\u0003');
    expect(await running.ended).toBe(130);
    const picture = pictureOf(running.shown());
    for (const check of checkIds) expect({ check, lines: linesOf(picture, check).length }).toEqual({ check, lines: 1 });
    expect(linesOf(picture, 'tests')[0]).toMatch(/cancelled$/);
    expect(picture.join('\n')).toMatch(/^no verdict {2}default\/ended /m);
    expect(cli().residue()).toEqual([]);
  });

  it('is a line for each check that has ended where the terminal is too small to draw in', async () => {
    write('small');
    for (const size of ['rows 24 cols 30', 'rows 5 cols 80']) {
      const running = open(['node', 'validate', 'small'], size);
      expect(await running.ended).toBe(0);
      expect(running.shown()).not.toContain('\u001b[J');
      for (const check of checkIds) expect(linesOf(pictureOf(running.shown()), check)).toHaveLength(1);
    }
  });

  it('is not drawn with --quiet, nor with --json', async () => {
    write('unseen');
    const quiet = open(['node', 'validate', 'unseen', '--quiet']);
    expect(await quiet.ended).toBe(0);
    expect(pictureOf(quiet.shown())[0]).toMatch(/^passed {2}default\/unseen/);
    const json = open(['node', 'validate', 'unseen', '--json']);
    expect(await json.ended).toBe(0);
    expect(JSON.parse(json.shown())).toMatchObject({ state: 'passed' });
    // What is released is not checked again: there is nothing to draw.
    expect((await run('node', 'publish', 'unseen', '--quiet')).code).toBe(0);
    const released = open(['node', 'validate', 'unseen']);
    expect(await released.ended).toBe(0);
    expect(pictureOf(released.shown())[0]).toBe('passed  default/unseen  7 passed, when it was released');
  });

  it('keeps its place below what a node logs, in node dev', async () => {
    const dir = write('logging', {
      'src/index.ts':
        "import { defineNode } from '@glovebox/sdk';\nexport default defineNode<{ a: number; b: number }, object, { sum: number }>(async (ctx) => {\n  ctx.log.info('adding');\n  return { sum: ctx.input.a + ctx.input.b };\n});\n",
    });
    const running = open(['node', 'dev', 'logging']);
    await running.seen(/waiting for a change/);
    writeFileSync(join(dir, 'src/more.ts'), '');
    await running.seen(/waiting for a change[\s\S]*waiting for a change/);
    running.type('\u0003');
    expect(await running.ended).toBe(130);
    const picture = pictureOf(running.shown());
    const round = [
      'info  adding',
      'SUCCEEDED',
      'fixture basic',
      ...checkIds.map((id) => `✓ ${id}`),
      'passed  default/logging',
      'waiting for a change',
    ];
    let at = 0;
    for (const text of [...round, ...round]) {
      const found = picture.findIndex((line, index) => index >= at && line.includes(text));
      expect({ text, found: found >= at }).toEqual({ text, found: true });
      at = found + 1;
    }
    for (const check of checkIds) expect(linesOf(picture, check)).toHaveLength(2);
  });
});

describe('the checklist without a terminal', () => {
  it('is a line on stderr for each check that has ended', async () => {
    write('plain');
    const { code, stdout, stderr } = await run('node', 'validate', 'plain');
    expect(code).toBe(0);
    const lines = stderr.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/\s+/)[2]).sort()).toEqual([...checkIds].sort());
    for (const line of lines) expect(line).toMatch(/^ {2}✓ \w+ +\d[\d.]* m?s$/);
    expect(stdout).not.toContain('✓');
  });
});
