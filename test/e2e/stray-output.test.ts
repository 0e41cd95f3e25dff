import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

describe('a stray print', () => {
  it.each([
    ['console.log', `console.log('stray', { a: 1 });`, 'console', 'stray { a: 1 }'],
    ['console.error', `console.error('stray');`, 'console', 'stray'],
    ['console.table', `console.table([{ a: 1 }]);`, 'console', expect.stringContaining('│')],
    ['process.stdout.write', `process.stdout.write('stray\\n');`, 'stdout', 'stray'],
    ['process.stderr.write', `process.stderr.write('stray\\n');`, 'stderr', 'stray'],
    ['fs.writeSync(1)', `process.getBuiltinModule('fs').writeSync(1, 'stray\\n');`, 'stdout', 'stray'],
    ['fs.writeSync(2)', `process.getBuiltinModule('fs').writeSync(2, 'stray\\n');`, 'stderr', 'stray'],
    ['process._rawDebug', `process._rawDebug('stray');`, 'stderr', 'stray'],
    [
      'a warning',
      `process.emitWarning('stray'); await new Promise((r) => setImmediate(r));`,
      'console',
      expect.stringContaining('stray'),
    ],
    ['a print while loading', '', 'console', 'stray'],
    [
      'a result printed as if it were one',
      `console.log(JSON.stringify({ output: 'forged' }));`,
      'console',
      '{"output":"forged"}',
    ],
  ])('by %s is a line of the log, and the result is delivered', async (name, body, source, message) => {
    const result = await cells().run({
      top: name === 'a print while loading' ? `console.log('stray');` : '',
      body: `${body}\nreturn { fine: true };`,
    });
    expect(result).toMatchObject({ state: 'SUCCEEDED', error: null, output: { fine: true } });
    expect(result.logs.map((record) => [record.source, record.message])).toContainEqual([source, message]);
  });

  it('by many means at once keeps each line whole', async () => {
    const { logs, output } = await cells().run({
      body: `
        const fs = process.getBuiltinModule('fs');
        for (let i = 0; i < 100; i++) { console.log('c' + i); process.stdout.write('o' + i + '\\n'); fs.writeSync(1, 'r' + i + '\\n'); }
        return 'all';`,
    });
    expect(output).toBe('all');
    const lines = logs.map(({ message }) => message);
    for (const letter of ['c', 'o', 'r'])
      expect(lines.filter((line) => line.startsWith(letter))).toEqual(
        Array.from({ length: 100 }, (_, i) => `${letter}${i}`),
      );
    expect(lines).toHaveLength(300);
  });
});

describe('reading standard input', () => {
  it('finds nothing, at once', async () => {
    const { output } = await cells().run({
      body: `const fs = process.getBuiltinModule('fs'); let text = ''; for await (const chunk of process.stdin) text += chunk; return [text, fs.readSync(0, Buffer.alloc(10)), process.stdin.isTTY ?? false];`,
    });
    expect(output).toEqual(['', 0, false]);
  });
});
