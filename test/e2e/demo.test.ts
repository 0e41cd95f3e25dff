import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const timeoutMs = 180_000;

function demo(...args: string[]): Promise<{ code: number | null; lastLine: string; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'tools/demo/main.ts', ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, text, lastLine: text.trimEnd().split('\n').at(-1) ?? '' }));
  });
}

const line = (word: string, contained: string): RegExp =>
  new RegExp(
    `^demo: ${word} driver=oci node=csv-profile@1\\.0\\.0 digest=sha256:[0-9a-f]{64} receipt=verified contained=${contained} run_ms=\\d+ published=default/csv-profile@1\\.0\\.0$`,
  );

describe('the demo', () => {
  it('profiles real data, verifies its receipt, lets one request of two out and contains three hostile nodes', {
    timeout: timeoutMs,
  }, async () => {
    const { code, lastLine, text } = await demo();
    expect(lastLine, text).toMatch(line('ok', '3/3'));
    expect(code).toBe(0);
    expect(text).toContain('3376 rows');
    expect(text).toMatch(
      /allowed {2}GET {2}https:\/\/api\.weather\.test:\d+\/v1\/forecast {2}200 from 127\.0\.0\.1, by http\.rules\[0\]/,
    );
    expect(text).toMatch(
      /denied {3}POST https:\/\/stats\.collector\.test:\d+\/v1\/events {2}HOST_NOT_DECLARED; nothing was sent/,
    );
    expect(text).toMatch(/"rules": \[\s+\{[^}]*"host": "stats\.collector\.test"/);
    expect(text).toContain('heard: GET api.weather.test\n');
  });

  it('sees that a second request is heard where the manifest declares it', { timeout: timeoutMs }, async () => {
    const { code, lastLine, text } = await demo('--sabotage=rules');
    expect(lastLine, text).toMatch(line('failed', '3/3'));
    expect(code).toBe(1);
    expect(text).toContain('heard: GET api.weather.test, POST stats.collector.test\n');
    expect(text).toContain('NOT HELD');
  });

  it.each([
    ['mount', 'canary-hunter: the canary came out'],
    ['net', 'network-prober: the host heard it'],
    ['timeout', 'never-ends: it ended CANCELLED'],
  ])('sees that a hostile node is not contained when %s is weakened', { timeout: timeoutMs }, async (sabotage, why) => {
    const { code, lastLine, text } = await demo(`--sabotage=${sabotage}`);
    expect(lastLine, text).toMatch(line('failed', '2/3'));
    expect(code).toBe(1);
    expect(text).toContain(`NOT CONTAINED  ${why}`);
  });

  it('refuses a sabotage that it does not know', { timeout: timeoutMs }, async () => {
    const { code, text } = await demo('--sabotage=everything');
    expect(code).not.toBe(0);
    expect(text).toContain('USAGE');
  });
});
