import { describe, expect, it } from 'vitest';
import { typeFindings } from './type-findings.ts';

const files = new Map([
  ['src/index.ts', ''],
  ['src/a(1,2): error TS1: b.ts', ''],
]);
const told = (output: string) => typeFindings(output, files).findings.map(({ message, place }) => [message, place]);

describe('what the type checker writes', () => {
  it('is one finding for each diagnostic, with its place in the package', () => {
    expect(
      told(
        "tmp/src-tree/src/index.ts(3,7): error TS2322: Type 'a' is not assignable to type 'b'.\n  Because of this.\n    And that.\n" +
          "tmp/src-tree/src/index.ts(9,1): error TS2307: Cannot find module '/tmp/src-tree/src/x.ts'.\n",
      ),
    ).toEqual([
      [
        "TS2322: Type 'a' is not assignable to type 'b'. Because of this. And that.",
        { file: 'src/index.ts', line: 3, column: 7 },
      ],
      ["TS2307: Cannot find module 'src/x.ts'.", { file: 'src/index.ts', line: 9, column: 1 }],
    ]);
  });

  it('may have no place, or one in a dependency, which is named', () => {
    expect(
      told(
        'error TS18003: No inputs were found.\n' +
          'tmp/src-tree/node_modules/@a/b/node_modules/c/lib/x.ts(1,2): error TS1: no.\n',
      ),
    ).toEqual([
      ['TS18003: No inputs were found.', {}],
      ['lib/x.ts(1,2): TS1: no.', { file: 'node_modules/@a/b/node_modules/c' }],
    ]);
  });

  it('is passed over where it is about declarations of others, and of nobody else', () => {
    const of = (path: string) => typeFindings(`${path}(1,2): error TS1: no.\n  And why.\n`, files);
    for (const path of ['toolchain/types/index.d.ts', 'tmp/src-tree/node_modules/a/b/c.d.mts'])
      expect(of(path)).toMatchObject({
        findings: [],
        complete: true,
        reached: false,
        foreign: { rule: 'TYPES_FAILED' },
      });
    for (const path of [
      'tmp/src-tree/src/node_modules/a.d.ts',
      'tmp/src-tree/src/a.d.ts',
      'src-tree/node_modules/a.d.ts',
      'tmp/src-tree/node_modules/a/a.ts',
      'tmp/src-tree/node_modules/a/a.d.ts(1,2): error TS1: b.ts',
    ])
      expect(of(path).findings).toMatchObject([{ message: expect.stringContaining('And why.') }]);
  });

  it('tells whether types were checked by the one error that is there to be found, and no other', () => {
    const error = "tmp/reached.mts(1,14): error TS2322: Type 'number' is not assignable to type 'string'.\n";
    expect(typeFindings(error, files)).toEqual({ findings: [], complete: true, reached: true, foreign: undefined });
    for (const other of [error.replace('14', '15'), error.replace('tmp/', 'tmp/src-tree/'), ` ${error}`, ''])
      expect(typeFindings(other, files).reached).toBe(false);
  });

  it('is complete only where all of it is diagnostics', () => {
    const foreign = 'toolchain/types/index.d.ts(1,2): error TS1: no.\n';
    const complete = (output: string) => typeFindings(output, files).complete;
    expect(complete(`${foreign}${foreign}`)).toBe(true);
    for (const more of ['panic\n', foreign.trimEnd()]) expect(complete(foreign + more)).toBe(false);
    expect(complete(`  ${foreign}`)).toBe(false);
  });

  it('is read by the names of files that are there, whatever they look like', () => {
    expect(told('tmp/src-tree/src/a(1,2): error TS1: b.ts(3,4): error TS5: no.\n')).toEqual([
      ['TS5: no.', { file: 'src/a(1,2): error TS1: b.ts', line: 3, column: 4 }],
    ]);
  });

  it('is made fit to show', () => {
    expect(told("tmp/src-tree/src/index.ts(1,1): error TS1: '\u001b[2J\u202e'.\n")).toEqual([
      ["TS1: '\\u{1b}[2J\\u{202e}'.", { file: 'src/index.ts', line: 1, column: 1 }],
    ]);
  });

  it('is nothing where it is no diagnostic', () => {
    expect(told('')).toEqual([]);
    expect(told('panic: runtime error\n\ngoroutine 1 [running]:\n  main.main()\n')).toEqual([]);
    expect(told('warning TS1: x\nsrc/index.ts: error TS1: x\n')).toEqual([]);
  });

  it('is bounded in number and length, and read in linear time', () => {
    const line = `tmp/src-tree/src/index.ts(1,1): error TS1: ${'x'.repeat(5000)}\n`;
    const { findings } = typeFindings(line.repeat(200), files);
    expect(findings).toHaveLength(101);
    expect(findings[100]?.message).toBe('There are 100 errors more.');
    expect(Math.max(...findings.map(({ message }) => message.length))).toBeLessThan(1100);
    expect(told(`${'(1,1): error TS1: '.repeat(50_000)}\n`)).toHaveLength(1);
    expect(told(`${'('.repeat(1_000_000)}\n`)).toEqual([]);
  });
});
