import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { manifestSchema, runLimits } from '@glovebox/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nodeTemplate } from './template.ts';
import { sdkPackageFiles, sdkTypeDeclarations } from './tooling.ts';

const run = promisify(execFile);
const modules = resolve(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), '..');
const home = mkdtempSync(join(tmpdir(), 'sdk-template-'));
const files = nodeTemplate({ id: 'word-count', title: 'Word count' });
const source = files.get('src/index.ts') as string;

function write(directory: string, content: ReadonlyMap<string, string>): string {
  for (const [name, text] of content) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return directory;
}

const inPackage = (directory: string, ...args: string[]) =>
  run(process.execPath, args, { cwd: directory, env: { PATH: '/usr/bin:/bin' } }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => ({ code: error.code, stdout: error.stdout }),
  );

let directory: string;
beforeAll(() => {
  directory = write(join(home, 'word-count'), new Map([...files, ...sdkPackageFiles()]));
});
afterAll(() => rmSync(home, { recursive: true }));

it('makes a package whose manifest is valid', () => {
  const manifest = manifestSchema.parse(JSON.parse(files.get('node.json') as string));
  expect(manifest.id).toBe('word-count');
  expect(runLimits(manifest).timeoutMs).toBe(30_000);
  expect(JSON.parse(files.get('package.json') as string).name).toBe('word-count');
});

it('makes tests that pass offline, by the script and by a plain node --test', async () => {
  const script = JSON.parse(files.get('package.json') as string).scripts.test as string;
  const byScript = await inPackage(directory, ...script.split(' ').slice(1));
  expect(byScript).toMatchObject({ code: 0, stdout: expect.stringContaining('pass 3') });
  const plain = await inPackage(directory, '--test');
  expect(plain).toMatchObject({ code: 0, stdout: expect.stringContaining('pass 3') });
});

it('makes tests that pass by the script after npm has removed what it does not know', async () => {
  const pruned = write(join(home, 'pruned'), new Map([...files, ...sdkPackageFiles()]));
  rmSync(join(pruned, 'node_modules'), { recursive: true });
  const { code } = await inPackage(pruned, '--import', './.glovebox/register.mjs', '--test');
  expect(code).toBe(0);
});

it('makes tests that fail when the node is wrong', async () => {
  const wrong = write(join(home, 'wrong'), new Map([...files, ...sdkPackageFiles()]));
  writeFileSync(join(wrong, 'src/index.ts'), source.replace('words.length, top', 'words.length + 1, top'));
  const { code, stdout } = await inPackage(wrong, '--test');
  expect(code).toBe(1);
  expect(stdout).toContain('fail 1');
});

it('makes a package that type-checks, and one with a wrong output that does not', async () => {
  symlinkSync(join(modules, '@types'), join(directory, 'node_modules', '@types'));
  const tsc = join(modules, 'typescript/bin/tsc');
  expect(await inPackage(directory, tsc, '--project', 'tsconfig.json')).toEqual({ code: 0, stdout: '' });
  writeFileSync(
    join(directory, 'src/index.ts'),
    source.replace('return { words: words.length', "return { words: 'many'"),
  );
  const { code, stdout } = await inPackage(directory, tsc, '--project', 'tsconfig.json');
  expect(code).not.toBe(0);
  expect(stdout).toContain("Type 'string' is not assignable to type 'number'");
});

it('gives type declarations that import nothing from outside', () => {
  const { index, testing } = sdkTypeDeclarations();
  expect(index).not.toMatch(/^import/m);
  expect([...testing.matchAll(/from '([^']+)'/g)].map(([, from]) => from)).toEqual(['./index.d.ts']);
  expect(index).toContain('export declare function defineNode');
  expect(index).toContain('/** Valid by the `input` schema of node.json.');
});
