import { describe, expect, it } from 'vitest';
import { refuseAmbientModule } from './ambient-modules.ts';

const refusal = (text: string | Buffer, path = 'a.d.ts') =>
  refuseAmbientModule(path, Buffer.from(text as string), 'DEPENDENCY_REFUSED');
const sdk = "declare module '@glovebox/sdk' {}";

describe('a declaration in place of what is checked', () => {
  it.each([
    sdk,
    "module'@glovebox/sdk'{}",
    'declare module "@glovebox/sdk/testing" {}',
    String.raw`declare module '\x40glovebox/sdk' {}`,
    String.raw`declare module "@glovebox\u{2f}sdk" {}`,
    `declare module /* ' */ /**/\u0085\u200b'@glovebox/sdk' {}`,
    "declare module '*';",
    "declare module '*s';",
    "declare module './*';",
    "declare module '#*';",
    "declare module '#util' {}",
    `var a = 2\n* 3; ${sdk}`,
    `do ; while (1\n* 2) ${sdk}`,
    "declare module '*.ts';",
    "declare module '@*';",
    `/* */ ${sdk}`,
    `* a comment that is over */ ${sdk}`,
    `const u = '\\\n//'; ${sdk}`,
    `const t = \`\n * \`; ${sdk}`,
    `// no\u2028${sdk}`,
    `/*${'module/*'.repeat(3)}*/ ${sdk}`,
  ])('is refused: %j', (text) => {
    expect(refusal(text)).toMatchObject({ rule: 'DEPENDENCY_REFUSED', entry: 'a.d.ts' });
  });

  it.each(['a.ts', 'a.d.mts', 'a.cts', 'a.tsx', 'a.d.json.ts', 'a.TS'])('is refused in %s', (path) => {
    expect(refusal(sdk, path)).toMatchObject({ entry: path });
  });

  it('is refused in the encodings that TypeScript reads', () => {
    const utf16 = Buffer.from(`\ufeff${sdk}`, 'utf16le');
    expect(refusal(utf16)).toBeDefined();
    expect(refusal(Buffer.from(utf16).swap16())).toBeDefined();
  });
});

describe('what is not', () => {
  it.each([
    "import { defineNode } from '@glovebox/sdk';",
    "declare module 'untyped' { export const n: number; }",
    "declare module 'untyped/*';",
    "declare module '*.svg';",
    "declare module '*?raw';",
    "declare module 'text!*';",
    "declare module 'node:fs' { interface Stats { more: number } }",
    'declare module Space { }',
    "declare module\n// '@glovebox/sdk'\n",
    `// ${sdk}`,
    ` * ${sdk}`,
    `/** ${sdk} */`,
  ])('is taken: %j', (text) => {
    expect(refusal(text)).toBeUndefined();
  });

  it('is what no type checker reads', () => {
    expect(refusal(sdk, 'a.js')).toBeUndefined();
  });
});

it('is looked for in linear time', () => {
  for (const text of ['module/*', "module '", '// module "x', 'module ', 'module/**/'])
    expect(refusal(text.repeat(500_000))).toBeUndefined();
});
