import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { jsonOf, usePackages } from '../support/use-packages.ts';

vi.setConfig({ testTimeout: 240_000 });

const { cli, write, run } = usePackages();
const digestPattern = /^sha256:[0-9a-f]{64}$/;
const input = ['-i', '{"a":20,"b":22}'];

const version = (text: string) => ({ 'package.json': jsonOf('sums', 'package.json', { version: text }) });
/** Digest by version of what is released before the tests. */
const digests: Record<string, string> = {};

beforeAll(async () => {
  for (const of of ['1.0.0', '1.1.0', '2.0.0']) {
    write('sums', version(of));
    const published = await run('node', 'publish', 'sums', '--json');
    expect({ code: published.code, stderr: published.stderr }).toEqual({ code: 0, stderr: '' });
    digests[of] = published.json().digest as string;
  }
});

const errorOf = async (...args: string[]) => {
  const { code, stderr, json } = await run(...args, '--json');
  const { error } = json();
  expect({ args, stderr, hinted: /\S/.test(error?.hint ?? '') }).toEqual({ args, stderr: '', hinted: true });
  return { exit: code, code: error?.code };
};

describe('glovebox node publish', () => {
  it('tells reference, digest and whether anything was made, and the second time makes nothing', async () => {
    write('twice');
    const first = await run('node', 'publish', 'twice', '--json');
    expect(first.json()).toEqual({
      ref: 'default/twice@1.0.0',
      digest: expect.stringMatching(digestPattern),
      created: true,
    });
    const [{ digest }, audit] = [first.json(), await run('audit', 'list', '--json', '--action', 'release.published')];
    for (const target of ['twice', './twice', join(cli().dir, 'twice')]) {
      const again = await run('node', 'publish', target, '--json');
      expect({ code: again.code, document: again.json() }).toEqual({
        code: 0,
        document: { ref: 'default/twice@1.0.0', digest, created: false },
      });
    }
    expect((await run('audit', 'list', '--json', '--action', 'release.published')).stdout).toBe(audit.stdout);
    const text = await run('node', 'publish', 'twice', '--quiet');
    expect({ code: text.code, stdout: text.stdout, stderr: text.stderr }).toEqual({
      code: 0,
      stdout: `unchanged  default/twice@1.0.0\n  ${digest}\n`,
      stderr: '',
    });
  });

  it('takes a draft that has passed by its id, from wherever there is no such directory', async () => {
    write('by-id');
    const cwd = join(cli().dir, 'by-id');
    expect(await errorOf('node', 'publish', 'by-id-of-none')).toEqual({ exit: 2, code: 'NOT_FOUND' });
    expect((await run('node', 'validate', 'by-id', '--quiet')).code).toBe(0);
    const published = await cli().run(['node', 'publish', 'by-id', '--json'], { cwd });
    expect(published.json()).toMatchObject({ ref: 'default/by-id@1.0.0', created: true });
  });

  it('refuses a draft that has not passed, and another content under a released version', async () => {
    write('unproven', { 'src/add.ts': "export const add = (a: number, b: number): number => a + b + 'x';\n" });
    expect((await run('node', 'validate', 'unproven', '--quiet')).code).toBe(1);
    const cwd = join(cli().dir, 'unproven');
    const refused = await cli().run(['node', 'publish', 'unproven', '--json'], { cwd });
    expect({ code: refused.code, error: refused.json().error?.code }).toEqual({ code: 4, error: 'NOT_VALIDATED' });

    write('changing');
    expect((await run('node', 'publish', 'changing', '--quiet')).code).toBe(0);
    write('changing', {
      'fixtures/second.json': '{ "input": { "a": 0, "b": 0 }, "expect": { "output": { "sum": 0 } } }',
    });
    expect(await errorOf('node', 'publish', 'changing')).toEqual({ exit: 4, code: 'VERSION_EXISTS' });
    const raised = { 'package.json': jsonOf('changing', 'package.json', { version: '1.0.1' }) };
    write('changing', raised);
    expect((await run('node', 'publish', 'changing', '--json')).json()).toMatchObject({
      ref: 'default/changing@1.0.1',
      created: true,
    });
  });
});

describe('glovebox node run', () => {
  it('runs a release by every kind of reference, and says which one it was', async () => {
    const kinds: [string, string][] = [
      ['default/sums', '2.0.0'],
      ['sums@1.0.0', '1.0.0'],
      ['default/sums@1.1.0', '1.1.0'],
      [`sums@${digests['1.0.0']}`, '1.0.0'],
    ];
    for (const [reference, of] of kinds) {
      const ran = await run('node', 'run', reference, ...input, '--json');
      expect({ reference, code: ran.code, stderr: ran.stderr }).toEqual({ reference, code: 0, stderr: '' });
      expect(ran.json()).toMatchObject({ ref: `default/sums@${of}`, state: 'SUCCEEDED', output: { sum: 42 } });
    }
    const elsewhere = await cli().run(['node', 'run', 'sums', ...input], { cwd: cli().dataDir });
    expect({ code: elsewhere.code, output: JSON.parse(elsewhere.stdout) }).toEqual({ code: 0, output: { sum: 42 } });
    expect(elsewhere.stderr).toMatch(/^SUCCEEDED {2}sums@2\.0\.0/m);
  });

  it('refuses what no reference is, what there is not, and a name that is a directory here', async () => {
    expect(await errorOf('node', 'run', 'sums@9.9.9', ...input)).toEqual({ exit: 2, code: 'NOT_FOUND' });
    expect(await errorOf('node', 'run', 'other-project/sums', ...input)).toEqual({ exit: 2, code: 'NOT_FOUND' });
    expect(await errorOf('node', 'run', 'sums@latest', ...input)).toEqual({ exit: 2, code: 'USAGE' });
    expect(await errorOf('node', 'run', 'sums', ...input)).toEqual({ exit: 2, code: 'USAGE' });
    expect(await errorOf('node', 'run', 'default/sums', '-i', '{"a":"x"}')).toEqual({ exit: 2, code: 'INPUT_INVALID' });
    expect((await run('run', 'list', '--state', 'FAILED', '--json')).json().runs).toEqual([]);
  });
});

describe('glovebox node show and node list', () => {
  it('tell what a release may do and what it was proved by, and each node with its newest release', async () => {
    const shown = await run('node', 'show', 'sums@1.0.0', '--json');
    expect(shown.code).toBe(0);
    expect(shown.json()).toMatchObject({
      release: { ref: 'default/sums@1.0.0', state: 'active', reason: null, digest: digests['1.0.0'] },
      content: { title: 'Adds', license: 'Apache-2.0', report: { warnings: 0, notices: 0 } },
      problem: null,
    });
    const text = await run('node', 'show', 'default/sums');
    expect(text.stdout).toMatch(/^default\/sums@2\.0\.0 {2}active$/m);
    for (const line of [
      /^ {2}checks +7 passed; 0 warnings/m,
      /^ {4}Reaches no host\.$/m,
      /^ {2}attested +provenance, report, sbom, release$/m,
    ])
      expect(text.stdout).toMatch(line);
    const listed = await run('node', 'list');
    expect(listed.stdout).toMatch(/^sums +2\.0\.0 +3 +2\.0\.0 released +Adds$/m);
    expect(await errorOf('node', 'show', 'nothing')).toEqual({ exit: 2, code: 'NOT_FOUND' });
    expect(await errorOf('node', 'show', 'not a reference')).toEqual({ exit: 2, code: 'REFERENCE_INVALID' });
  });
});

describe('glovebox node deprecate and node revoke', () => {
  it('want a version and a reason', async () => {
    for (const verb of ['deprecate', 'revoke']) {
      expect(await errorOf('node', verb, 'sums', '--reason', 'old')).toEqual({ exit: 2, code: 'USAGE' });
      expect(await errorOf('node', verb, 'sums@1.0.0')).toEqual({ exit: 2, code: 'USAGE' });
      expect(await errorOf('node', verb, 'sums@1.0.0', '--reason', ' ')).toEqual({ exit: 2, code: 'USAGE' });
      expect(await errorOf('node', verb, 'sums@9.0.0', '--reason', 'old')).toEqual({ exit: 2, code: 'NOT_FOUND' });
    }
  });

  it('deprecate tells whoever runs it, hinders nobody, and can be taken back', async () => {
    const deprecated = await run('node', 'deprecate', 'sums@1.1.0', '--reason', 'use 2.0.0', '--json');
    expect(deprecated.json()).toMatchObject({ release: { state: 'deprecated', reason: 'use 2.0.0' }, changed: true });
    const again = await run('node', 'deprecate', 'sums@1.1.0', '--reason', 'use 2.0.0');
    expect(again.stdout).toBe('default/sums@1.1.0  deprecated: use 2.0.0 (as it was)\n');
    const ran = await run('node', 'run', 'sums@1.1.0', ...input);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('default/sums@1.1.0 is deprecated: use 2.0.0');
    const events = await run('node', 'run', 'sums@1.1.0', ...input, '--json=lines');
    expect(events.stdout).toContain('{"event":"deprecated","ref":"default/sums@1.1.0","reason":"use 2.0.0"}');

    const undone = await run('node', 'deprecate', 'sums@1.1.0', '--undo', '--json');
    expect(undone.json()).toMatchObject({ release: { state: 'active', reason: null }, changed: true });
    expect((await run('node', 'run', 'sums@1.1.0', ...input)).stderr).not.toContain('deprecated');
  });

  it('revoke refuses every run from then on, with the reason, and cannot be taken back', async () => {
    write('bad-one');
    expect((await run('node', 'publish', 'bad-one', '--quiet')).code).toBe(0);
    expect((await run('node', 'run', 'bad-one@1.0.0', ...input)).code).toBe(0);
    const revoked = await run('node', 'revoke', 'bad-one@1.0.0', '--reason', 'leaks');
    expect({ code: revoked.code, stdout: revoked.stdout }).toEqual({
      code: 0,
      stdout: 'default/bad-one@1.0.0  revoked: leaks\n',
    });
    for (const reference of ['bad-one@1.0.0', 'default/bad-one@1.0.0']) {
      const refused = await run('node', 'run', reference, ...input, '--json');
      expect({ code: refused.code, error: refused.json().error }).toMatchObject({
        code: 4,
        error: { code: 'RELEASE_REVOKED', message: expect.stringContaining('leaks') },
      });
    }
    // Nothing else is there that the bare name could mean.
    expect(await errorOf('node', 'run', 'default/bad-one', ...input)).toEqual({ exit: 4, code: 'RELEASE_REVOKED' });
    expect(await errorOf('node', 'deprecate', 'bad-one@1.0.0', '--undo')).toEqual({ exit: 4, code: 'RELEASE_REVOKED' });
    expect(await errorOf('node', 'publish', './bad-one')).toEqual({ exit: 4, code: 'RELEASE_REVOKED' });
    const { runs } = (await run('run', 'list', '--node', 'bad-one', '--json')).json() as unknown as { runs: object[] };
    expect(runs).toHaveLength(1);
  });
});

describe('glovebox node revalidate', () => {
  it('changes nothing where the image is the one that it was proved in', async () => {
    const unchanged = await run('node', 'revalidate', 'sums@1.0.0');
    expect(unchanged.code).toBe(0);
    expect(unchanged.stdout).toMatch(/^unchanged {2}default\/sums@1\.0\.0\n {2}image {2}sha256:/);
    expect(await errorOf('node', 'revalidate', 'nothing@1.0.0')).toEqual({ exit: 2, code: 'NOT_FOUND' });
  });
});

describe('glovebox node export', () => {
  it('writes the artifact with all that is stated of it, and never over a file that is there', async () => {
    const file = join(cli().dir, 'sums.tar');
    const exported = await run('node', 'export', 'sums@1.0.0', 'sums.tar', '--json');
    const digest = digests['1.0.0'] as string;
    expect(exported.json()).toEqual({ file, ref: 'default/sums@1.0.0', digest });
    const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8' })
      .split('\n')
      .filter((name) => name.startsWith('blobs/sha256/') && !name.endsWith('/'));
    const blob = (name: string): Buffer => execFileSync('tar', ['-xOf', file, name]);
    for (const name of names)
      expect(createHash('sha256').update(blob(name)).digest('hex')).toBe(name.slice('blobs/sha256/'.length));
    expect(JSON.parse(blob('oci-layout').toString())).toEqual({ imageLayoutVersion: '1.0.0' });
    const manifest = JSON.parse(blob(`blobs/sha256/${digest.slice('sha256:'.length)}`).toString());
    expect(manifest).toMatchObject({ artifactType: 'application/vnd.glovebox.node.v1' });
    expect(manifest.layers).toHaveLength(3);

    const before = readFileSync(file);
    expect(await errorOf('node', 'export', 'sums@1.1.0', 'sums.tar')).toEqual({ exit: 2, code: 'ALREADY_EXISTS' });
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(await errorOf('node', 'export', 'sums@1.0.0', 'nowhere/sums.tar')).toEqual({
      exit: 2,
      code: 'TARGET_UNUSABLE',
    });
    expect(await errorOf('node', 'export', 'nothing', 'nothing.tar')).toEqual({ exit: 2, code: 'NOT_FOUND' });
    expect(existsSync(join(cli().dir, 'nothing.tar'))).toBe(false);
    expect(readdirSync(cli().dir).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

describe('glovebox audit', () => {
  interface Entry {
    seq: number;
    action: string;
    subject: string;
    actor: string;
  }
  const list = async (...args: string[]): Promise<Entry[]> =>
    (await run('audit', 'list', '--json', ...args)).json().entries as Entry[];

  it('lists what was done by whom, by action, by subject, and page by page', async () => {
    const published = await list('--action', 'release.published', '--subject', 'default/sums@1.0.0');
    expect(published).toMatchObject([{ actor: `local:uid=${process.getuid?.()}`, subject: 'default/sums@1.0.0' }]);
    const [first] = await list('--limit', '1');
    const { id } = JSON.parse(readFileSync(join(cli().dataDir, 'instance.json'), 'utf8'));
    expect(first).toMatchObject({ seq: 1, action: 'instance.created', subject: id });
    expect(await list('--action', 'instance.created')).toEqual([first]);
    expect((await list('--after', '3', '--limit', '2')).map(({ seq }) => seq)).toEqual([4, 5]);
    expect(await list('--subject', 'default/no-such-thing')).toEqual([]);
    const text = await run('audit', 'list', '--limit', '2');
    expect(text.stderr).toBe('There may be more: glovebox audit list --after 2\n');
    expect(text.stdout).toMatch(/^no +at \(UTC\) +action +subject +actor\n +1 {2}\d{4}-\d\d-\d\d /);
    for (const wrong of [
      ['--limit', '0'],
      ['--limit', 'x'],
      ['--after', '-1'],
      ['--action', 'release.made'],
    ])
      expect(await errorOf('audit', 'list', ...wrong)).toEqual({ exit: 2, code: 'USAGE' });
  });

  it('verifies the chain, and exports it as lines for keeping elsewhere', async () => {
    const verified = await run('audit', 'verify', '--json');
    expect(verified.json()).toMatchObject({
      verified: true,
      entries: expect.any(Number),
      checkpoints: expect.any(Number),
    });
    expect((await run('audit', 'verify')).stdout).toMatch(
      /^verified {2}\d+ entries, \d+ checkpoints\n {2}head {2}sha256:/,
    );

    const file = join(cli().dir, 'audit.jsonl');
    expect((await run('audit', 'export', '--out', 'audit.jsonl', '--json')).json()).toEqual({ file });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string });
    expect(lines[0]?.kind).toBe('glovebox.audit/1');
    expect(lines.filter(({ kind }) => kind === 'entry').length).toBe(verified.json().entries);
    expect(await errorOf('audit', 'export', '--out', 'audit.jsonl')).toEqual({ exit: 2, code: 'ALREADY_EXISTS' });
    const piped = await run('audit', 'export');
    expect(piped.stdout.trimEnd().split('\n').slice(1)).toEqual(
      readFileSync(file, 'utf8').trimEnd().split('\n').slice(1),
    );
    const closed = await cli().run(['audit', 'export'], { onStart: ({ stdout }) => stdout?.destroy() });
    expect({ code: closed.code, stderr: closed.stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('glovebox key', () => {
  it('rotates only when told twice, and that is in the audit chain; what was released runs as before', async () => {
    const before = (await run('key', 'show', '--json')).json();
    expect(before).toMatchObject({ current: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----/), retired: [] });
    expect(await errorOf('key', 'rotate')).toEqual({ exit: 2, code: 'USAGE' });
    expect((await run('key', 'show', '--json')).json()).toEqual(before);

    const rotated = await run('key', 'rotate', '--yes', '--json');
    expect(rotated.code).toBe(0);
    const { keyId, retiredKeyId } = rotated.json();
    const after = (await run('key', 'show', '--json')).json();
    expect(after).toMatchObject({ retired: [before.current] });
    expect(after.current).not.toBe(before.current);
    expect((await run('key', 'show')).stdout).toMatch(/END PUBLIC KEY-----\nretired\n-----BEGIN/);
    const { entries } = (await run('audit', 'list', '--json', '--action', 'key.rotated')).json() as unknown as {
      entries: object[];
    };
    expect(entries).toMatchObject([{ subject: keyId, details: { retired: retiredKeyId } }]);
    expect((await run('audit', 'verify')).code).toBe(0);
    expect((await run('node', 'run', 'sums@1.0.0', ...input)).code).toBe(0);
    expect((await run('node', 'show', 'sums@1.0.0')).code).toBe(0);
  });
});

describe('glovebox explain', () => {
  it('explains every rule that a finding can have, however it is spelt, and suggests the nearest', async () => {
    for (const spelt of ['TYPES_FAILED', 'types_failed', 'types-failed']) {
      const { code, json } = await run('explain', spelt, '--json');
      expect({ code, document: json() }).toMatchObject({
        code: 0,
        document: { code: 'TYPES_FAILED', exit: 1, kind: 'user' },
      });
    }
    const near = await run('explain', 'TYPES_FAIL', '--json');
    expect({ code: near.code, error: near.json().error }).toMatchObject({
      code: 2,
      error: { code: 'NOT_FOUND', hint: 'Did you mean TYPES_FAILED?' },
    });
    expect((await run('explain', 'VERSION_EXISTS')).stdout).toMatch(/^VERSION_EXISTS {2}\S.*\n {2}hint {2}\S/);
  });
});

describe('a data directory that was never used', () => {
  it('has nothing to list, and says where to begin', async () => {
    const dataDir = join(cli().dir, 'unused');
    writeFileSync(join(cli().dir, 'not-a-directory'), '');
    const listed = await cli().run(['node', 'list', '--data-dir', dataDir]);
    expect({ code: listed.code, stdout: listed.stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('glovebox node new'),
    });
    expect((await cli().run(['audit', 'verify', '--data-dir', dataDir])).code).toBe(0);
    expect((await cli().run(['node', 'list', '--data-dir', join(cli().dir, 'not-a-directory')])).code).toBe(3);
  });
});
