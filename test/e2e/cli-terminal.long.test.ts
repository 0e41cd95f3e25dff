import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { bin } from '../support/cli.ts';
import { hostile, raw } from '../support/hostile-text.ts';
import { inWay, manyWays } from '../support/many-ways.ts';
import { hasTerminals, onTerminal } from '../support/terminal.ts';
import { useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
beforeAll(async () => {
  await cli().node('many-ways', manyWays);
});

describe.concurrent('text of a node on its way to the terminal', () => {
  it('is shown and not obeyed, wherever it comes out', async () => {
    const { run } = cli();
    const said = { log: hostile, progress: hostile };
    const texts: Record<string, string> = {};
    const keep = (name: string, { stdout, stderr }: { stdout: string; stderr: string }) => {
      texts[name] = `${stdout}${stderr}`;
    };
    keep('node run', await run(inWay('say', said)));
    const json = await run([...inWay('say', said), '--json']);
    keep('node run --json', json);
    keep('node run --json=lines', await run([...inWay('say', said), '--json=lines']));
    const id = json.json().run as string;
    for (const args of [
      ['run', 'show', id],
      ['run', 'show', id, '--json'],
      ['run', 'logs', id],
      ['run', 'logs', id, '--json'],
      ['run', 'logs', id, '--json=lines'],
    ])
      keep(args.join(' '), await run(args));
    for (const [name, text] of Object.entries(texts)) {
      expect({ name, found: raw.exec(text)?.[0] }).toEqual({ name, found: undefined });
      expect({ name, shown: text.includes('\\u001b[2J') }).toEqual({ name, shown: true });
    }
    // As JSON it is the same text, to the last character.
    expect(json.json().output).toEqual({ value: hostile });
  });

  it('is shown and not obeyed in errors, with codes and messages of the node', async () => {
    await cli().node('bad-error', {
      id: 'bad-error',
      body: `const error = new Error(${JSON.stringify(hostile)}); error.stack = ${JSON.stringify(`${hostile}\n    at ${hostile}\n    at x`)}; throw error;`,
    });
    await cli().node('bad-code', {
      id: 'bad-code',
      body: `throw Object.assign(new Error('m'), { code: ${JSON.stringify(`A\nB\u001b[2J`)}, name: 'NodeError', retryable: false });`,
    });
    for (const name of ['bad-error', 'bad-code']) {
      const ran = await cli().run(['node', 'run', name, '--trial']);
      expect({ name, code: ran.code }).toEqual({ name, code: 1 });
      const [, id = ''] = /run (run_\w+)/.exec(ran.stderr) ?? [];
      const listed = await cli().run(['run', 'list', '--node', name]);
      const shown = await cli().run(['run', 'show', id]);
      const verified = await cli().run(['verify', id]);
      for (const { stdout, stderr } of [ran, listed, shown, verified])
        expect({ name, found: raw.exec(stdout + stderr)?.[0] }).toEqual({ name, found: undefined });
      // A code with a line feed makes no second row.
      expect(listed.stdout.trimEnd().split('\n')).toHaveLength(2);
    }
  });

  it('cannot pass for a line of the host', async () => {
    const forged = 'harmless\n12:00:00.000 info  [host] forged\nSUCCEEDED  other@1.0.0\nerror INTERNAL: forged';
    const { stderr } = await cli().run(inWay('say', { log: forged, progress: forged }));
    expect(stderr).toContain('forged');
    expect(stderr).not.toMatch(/^12:00:00/m);
    expect(stderr).not.toMatch(/^SUCCEEDED {2}other/m);
    expect(stderr).not.toMatch(/^error INTERNAL/m);
  });

  it('is shown and not obeyed in findings about its files, its manifest and its values', async () => {
    const { dir, run } = cli();
    const source = { id: 'bad-names', body: 'return 1;' };
    await cli().node('bad-names', source);
    writeFileSync(join(dir, 'bad-names', 'src', 'x\u001b[2Jy.ts'), '');
    await cli().node('bad-fields', { ...source, id: 'bad-fields', manifest: { 'f\u001b[2J\u202e': 1 } });
    await cli().node('bad-source', { id: 'bad-source', body: `return \u0060\${\u001b[2J\u0060;` });
    await cli().node('bad-values', {
      id: 'bad-values',
      body: 'return 1;',
      manifest: { input: { type: 'object', properties: {}, additionalProperties: false } },
    });
    for (const args of [
      ['bad-names'],
      ['bad-fields'],
      ['bad-source'],
      ['bad-values', '-i', `{"${'k\\u001b[2J\\u202e'}":1}`],
    ]) {
      const { code, stdout, stderr } = await run(['node', 'run', ...args, '--trial']);
      expect({ args, failed: code === 1 || code === 2, found: raw.exec(stdout + stderr)?.[0] }).toEqual({
        args,
        failed: true,
        found: undefined,
      });
      expect(stderr).toMatch(/^error [A-Z_]+: /m);
    }
  });

  it('is shown and not obeyed in what the user typed, and in files that he named', async () => {
    const { dir, run } = cli();
    writeFileSync(join(dir, 'bad.json'), `{"a": \u001b[2J}`);
    mkdirSync(join(dir, 'bad\u001b[2J'), { recursive: true });
    for (const args of [
      [`${hostile.replaceAll('\u0000', '')}`],
      ['run', 'show', 'run_\u001b[2J'],
      ['node', 'run', 'bad\u001b[2J', '--trial'],
      ['node', 'run', '.', '--trial', '--input', '@bad.json'],
      ['verify', 'bad.json'],
      ['run', 'list', '--node', '\u001b[2J'],
    ]) {
      for (const json of [[], ['--json']]) {
        const { code, stdout, stderr } = await run([...args, ...json]);
        expect({ args, code, found: raw.exec(stdout + stderr)?.[0] }).toEqual({ args, code: 2, found: undefined });
      }
    }
  });
});

describe('colours', () => {
  it('are for terminals: none in a pipe, none with NO_COLOR, some where they are forced', async () => {
    const csi = `${String.fromCharCode(27)}[`;
    const help = async (env: Record<string, string>) => (await cli().run(['help'], { env })).stdout;
    expect(await help({})).not.toContain(csi);
    expect(await help({ NO_COLOR: '1' })).not.toContain(csi);
    expect(await help({ FORCE_COLOR: '1' })).toContain(`${csi}1m`);
  });

  it('never stand in JSON', async () => {
    const { stdout } = await cli().run([...inWay('echo', 1), '--json'], { env: { FORCE_COLOR: '3' } });
    expect(raw.test(stdout)).toBe(false);
    expect(JSON.parse(stdout)).toHaveProperty('run');
  });
});

describe.skipIf(!hasTerminals)('on a terminal', () => {
  const open = (args: string[]) =>
    onTerminal([process.execPath, bin, ...args], {
      cwd: cli().dir,
      env: { GLOVEBOX_DATA_DIR: cli().dataDir, HOME: cli().dataDir },
    });
  /** What a terminal would obey, but for the changes of colour that are ours, and the line ends that it makes itself. */
  const obeyed = (text: string): string | undefined =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not come through
    raw.exec(text.replace(/\u001b\[[0-9;]*m/g, '').replaceAll('\r\n', '\n'))?.[0];

  it('shows colours of its own, and text of a node without any power', async () => {
    const running = open(inWay('say', { log: hostile, progress: hostile }));
    expect(await running.ended).toBe(0);
    const text = running.shown();
    expect(text).toContain('\u001b[32mSUCCEEDED\u001b[39m');
    expect(text).toContain('\\u001b[2J');
    expect(obeyed(text)).toBeUndefined();
    // Not even a colour of the node's.
    expect(text).not.toContain('\u001b[31mK');
    const plain = onTerminal([process.execPath, bin, 'help'], { cwd: cli().dir, env: { NO_COLOR: '1' } });
    await plain.ended;
    expect(plain.shown()).not.toContain('\u001b');
  });

  it('shows a file of a run, and obeys nothing in it; into a pipe it goes as it is', async () => {
    await cli().node('bad-file', {
      id: 'bad-file',
      body: `await ctx.files.write('f.txt', ${JSON.stringify(hostile)}, 'text/plain'); return 1;`,
      manifest: { capabilities: { files: { maxBytes: '1MiB', maxCount: 1 } } },
    });
    const ran = await cli().run(['node', 'run', 'bad-file', '--trial', '--json']);
    const showing = open(['run', 'file', ran.json().run as string, 'f.txt']);
    expect(await showing.ended).toBe(0);
    expect(showing.shown()).toContain('\\u001b[2J');
    expect(obeyed(showing.shown())).toBeUndefined();
    expect((await cli().run(['run', 'file', ran.json().run as string, 'f.txt'])).stdout).toBe(hostile);
  });

  it('takes one Ctrl-C as one, and a second one as an end', async () => {
    const once = open(inWay('wait', 170_000));
    await once.seen(/waiting/);
    once.type('\u0003');
    expect(await once.ended).toBe(130);
    expect(once.shown()).toContain('told CANCELLED');
    expect(once.shown()).toContain('CANCELLED');
    const twice = open(inWay('stay'));
    await twice.seen(/staying/);
    twice.type('\u0003');
    await twice.seen(/told and staying/);
    twice.type('\u0003');
    expect(await twice.ended).toBe(130);
    const listed = (await cli().run(['run', 'list', '--limit', '2', '--json'])).json().runs as { state: string }[];
    expect(listed.map(({ state }) => state)).toEqual(['LOST', 'CANCELLED']);
    expect(cli().residue()).toEqual([]);
  });
});

it('speaks of nothing of a node in the signed record but as data', async () => {
  const { run } = cli();
  const ran = await run([...inWay('throw', { code: 'SOME_CODE', message: hostile }), '--json']);
  const receipt = await run(['run', 'show', ran.json().run as string, '--receipt']);
  expect(raw.test(receipt.stdout)).toBe(false);
  writeFileSync(join(cli().dir, 'receipt.json'), receipt.stdout);
  expect(readFileSync(join(cli().dir, 'receipt.json'), 'utf8')).toBe(receipt.stdout);
  const verified = await run(['verify', join(cli().dir, 'receipt.json'), '--json']);
  expect(verified.code).toBe(0);
  expect(raw.test(verified.stdout)).toBe(false);
});
