import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { newAttemptId, newRunId } from '@glovebox/contract';
import { openStore } from '@glovebox/store-sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bin } from '../support/cli.ts';
import { hasTerminals, onTerminal } from '../support/terminal.ts';
import { type CliHome, makeCliHome } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 120_000 });

let cli: CliHome;
beforeEach(async () => {
  cli = await makeCliHome('none');
});
afterEach(() => {
  expect(cli.leftovers()).toEqual([]);
  cli.remove();
});

const denials = 'denials:\n  - { id: pastes, host: "*.paste.example", reason: we were burnt }\n';
const allowances =
  'allowances:\n  - { id: git, host: git.internal, cidrs: [10.1.0.0/16], ports: [443], reason: our git }\n';

function file(name: string, text: string): string {
  const path = join(cli.dir, name);
  writeFileSync(path, text);
  return path;
}
const revision = async (): Promise<unknown> => (await cli.run(['policy', 'show', '--json'])).json().revision;

describe('glovebox policy', () => {
  it('shows what it takes again', async () => {
    const shown = await cli.run(['policy', 'show']);
    expect(shown.stdout).toContain('revision 0: nobody has set one');
    const again = await cli.run(['policy', 'set', file('shown.yaml', shown.stdout), '--json']);
    expect({ code: again.code, ...again.json() }).toMatchObject({ code: 0, changed: false, revision: 0 });
  });

  it('is narrowed by a program, from YAML, JSON and standard input, and says what that changes', async () => {
    const set = await cli.run(['policy', 'set', file('policy.yaml', denials)]);
    expect({ code: set.code, out: set.stdout }).toEqual({
      code: 0,
      out: expect.stringMatching(/^set .* revision 1\n {2}narrower denies \*\.paste\.example \(denial pastes\)\n$/),
    });
    const json = JSON.stringify({
      denials: ['a', 'b'].map((id) => ({ id, host: `*.${id}aste.example`, reason: 'r' })),
    });
    const piped = await cli.run(['policy', 'set', '-'], {
      stdin: `${denials}  - { id: b, host: b.example, reason: r }\n`,
    });
    expect({ code: piped.code, revision: await revision() }).toEqual({ code: 0, revision: 2 });
    expect((await cli.run(['policy', 'set', file('policy.json', json)])).code).toBe(4);
    const shown = await cli.run(['policy', 'show']);
    expect(shown.stdout).toMatch(/revision 2: set \S+ by local:uid=\d+\n# sha256:[0-9a-f]{64}\n/);
  });

  it('is not widened by a program, which is told what it would let through', async () => {
    for (const args of [[file('wide.yaml', allowances)], [file('wide.yaml', allowances), '--json']]) {
      const set = await cli.run(['policy', 'set', ...args]);
      expect({ code: set.code, text: set.stdout + set.stderr }).toEqual({
        code: 4,
        text: expect.stringMatching(/EGRESS_POLICY_WIDER[\s\S]*git\.internal at 10\.1\.0\.0\/16 on port 443/),
      });
    }
    const piped = await cli.run(['policy', 'set', '-'], { stdin: allowances });
    expect({ code: piped.code, revision: await revision() }).toEqual({ code: 4, revision: 0 });
  });

  it.skipIf(!hasTerminals)('is widened by a person who types yes at a terminal, and by nothing else', async () => {
    const wide = file('wide.yaml', allowances);
    const attended = (answer: string) => {
      const terminal = onTerminal([process.execPath, bin, 'policy', 'set', wide], {
        env: { GLOVEBOX_DATA_DIR: cli.dataDir, HOME: cli.dir },
        cwd: cli.dir,
      });
      return { terminal, answered: terminal.seen(/Type yes to confirm: /).then(() => terminal.type(answer)) };
    };
    for (const [answer, code] of [
      ['no\r', 4],
      ['y\r', 4],
      ['\u0004', 4],
      ['\u0003', 130],
    ] as const) {
      const { terminal, answered } = attended(answer);
      await answered;
      expect({ answer, code: await terminal.ended, revision: await revision() }).toEqual({ answer, code, revision: 0 });
      expect(stripVTControlCharacters(terminal.shown())).toContain('wider    lets nodes reach git.internal');
    }
    const { terminal, answered } = attended('yes\r');
    await answered;
    expect({ code: await terminal.ended, revision: await revision() }).toEqual({ code: 0, revision: 1 });
  });

  it('is set over the revision that was meant', async () => {
    const policy = file('policy.yaml', denials);
    const set = (number: string) => cli.run(['policy', 'set', policy, '--revision', number, '--json']);
    expect((await set('1')).json().error?.code).toBe('EGRESS_POLICY_STALE');
    expect((await set('0')).json()).toMatchObject({ changed: true, revision: 1 });
  });

  it.each<[string, string, object]>([
    ['is no YAML', 'denials: [', {}],
    ['is empty', '# nothing\n', {}],
    ['has aliases', 'denials: &a []\nallowances: *a\n', {}],
    [
      'has a member that there is not',
      'denials:\n  - { id: a, hst: b.example, reason: r }\n',
      { path: '/denials/0', line: 2 },
    ],
    [
      'has a block with bits beyond its prefix',
      'denials:\n  - id: a\n    cidr: 10.1.2.3/8\n    reason: r\n',
      { path: '/denials/0/cidr', line: 3, column: 11 },
    ],
    [
      'has a number twice',
      `${denials}  - { id: pastes, host: b.example, reason: r }\n`,
      { path: '/denials/1/id', line: 3 },
    ],
  ])('that %s is refused with its place, and nothing is changed', async (_what, text, place) => {
    const path = file('policy.yaml', text);
    const { code, json } = await cli.run(['policy', 'set', path, '--json']);
    expect({ code, error: json().error }).toMatchObject({
      code: 2,
      error: { code: 'EGRESS_POLICY_INVALID', place: { file: path, ...place } },
    });
    expect(await revision()).toBe(0);
  });

  it('check tells what decides, by its exit status too', async () => {
    await cli.run(['policy', 'set', file('policy.yaml', denials)]);
    const rules = [{ host: 'api.example.com', methods: ['GET'], paths: ['/v1/**'], reason: 'r' }];
    await cli.node('asker', { id: 'asker', body: 'return 1;', manifest: { capabilities: { http: { rules } } } });
    const check = async (...args: string[]) => {
      const { code, json } = await cli.run(['policy', 'check', ...args, '--json']);
      const { allowed, reason, rule, declaredBy } = json();
      return { code, allowed, reason, rule, declaredBy };
    };
    expect(await check('get', 'https://api.example.com/v1/x', '--node', './asker')).toEqual({
      code: 0,
      allowed: true,
      reason: null,
      rule: 'http.rules[0]',
      declaredBy: 'rules',
    });
    expect(await check('POST', 'https://api.example.com/v1/x', '--node', './asker')).toMatchObject({
      code: 4,
      reason: 'METHOD_NOT_DECLARED',
    });
    expect(await check('GET', 'https://a.paste.example/')).toMatchObject({
      code: 4,
      reason: 'DENIED_BY_POLICY',
      rule: 'pastes',
      declaredBy: 'nobody',
    });
    const text = await cli.run(['policy', 'check', 'PUT', 'https://api.example.com/v1/x', '--node', './asker']);
    expect(text.stdout).toMatch(
      /^denied {2}PUT https:\/\/api\.example\.com\/v1\/x {2}METHOD_NOT_DECLARED\n[\s\S]*"PUT"/,
    );
  });

  it('check judges what the table of hosts says, and looks up nothing that is denied', async () => {
    mkdirSync(cli.dataDir, { mode: 0o700 });
    writeFileSync(join(cli.dataDir, 'glovebox.yaml'), 'egress: { hosts: { git.internal: 10.1.2.3 } }\n', {
      mode: 0o600,
    });
    const check = async (...args: string[]) =>
      (await cli.run(['policy', 'check', ...args, '--resolve', '--json'])).json();
    expect(await check('GET', 'https://git.internal/')).toMatchObject({
      allowed: false,
      reason: 'ADDRESS_NOT_PUBLIC',
      addresses: [{ address: '10.1.2.3', allowed: false }],
    });
    expect(await check('GET', 'https://metadata.google.internal/')).toMatchObject({
      reason: 'ADDRESS_NEVER_ALLOWED',
      addresses: null,
    });
  });
});

describe('glovebox egress log', () => {
  it('lists requests, newest first, in pages, by run and outcome, and obeys nothing in them', async () => {
    expect((await cli.run(['egress', 'log'])).stdout).toBe('No requests.\n');
    const store = await openStore(join(cli.dataDir, 'glovebox.db'));
    const run = newRunId();
    const record = {
      at: '2026-09-21T14:13:20.000Z',
      purpose: 'node',
      run,
      attempt: newAttemptId(),
      node: 'some-node',
      method: 'GET',
      scheme: 'https',
      host: 'api.example.com',
      port: 8443,
      rule: 'http.rules[0]',
      reason: null,
      address: '192.0.2.1',
      protocol: 'h2',
      status: 200,
      bytesUp: 0,
      bytesDown: 2048,
      durationMs: 12.5,
      retries: 0,
    } as const;
    await store.egressLog.append([
      { project: 'default', record: { ...record, seq: 1, path: '/one', outcome: 'done' } },
      {
        project: 'default',
        record: {
          ...record,
          seq: 2,
          path: '/\u001b[2J',
          run: newRunId(),
          outcome: 'denied',
          reason: 'PATH_NOT_DECLARED',
        },
      },
    ]);
    await store.close();
    const { stdout } = await cli.run(['egress', 'log']);
    const [, denied, done] = stdout.split('\n');
    expect(denied).toMatch(/GET +https:\/\/api\.example\.com:8443\/\\u001b\[2J +denied +PATH_NOT_DECLARED/);
    expect(done).toMatch(
      new RegExp(`${run} +GET +https://api\\.example\\.com:8443/one +done +http\\.rules\\[0\\] +200 +2\\.0 KiB`),
    );
    const seqs = async (...args: string[]) =>
      ((await cli.run(['egress', 'log', ...args, '--json'])).json() as { records: { seq: number; cursor: string }[] })
        .records;
    expect((await seqs('--run', run)).map(({ seq }) => seq)).toEqual([1]);
    expect((await seqs('--outcome', 'DENIED')).map(({ seq }) => seq)).toEqual([2]);
    const [first] = await seqs('--limit', '1');
    expect((await seqs('--before', first?.cursor ?? '')).map(({ seq }) => seq)).toEqual([1]);
    for (const wrong of [
      ['--limit', '0'],
      ['--outcome', 'lost'],
      ['--run', 'x'],
      ['--before', 'x'],
    ])
      expect((await cli.run(['egress', 'log', ...wrong])).code).toBe(2);
  });
});
