import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Finding } from '@glovebox/contract';
import { afterEach } from 'vitest';
import type { ReadResult } from '../src/index.ts';

/** In memory where the host has that: some tests make thousands of files. */
const base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const made: string[] = [];

afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

/** An empty directory that is gone after the test. */
export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(base, 'glovebox-validate-'));
  made.push(dir);
  return dir;
}

export const goodManifest = {
  schemaVersion: 1,
  id: 'sample-node',
  title: 'Sample',
  input: { type: 'object' },
  output: {},
};

export const goodPackageJson = { name: '@acme/sample-node', version: '1.2.3', license: 'MIT', type: 'module' };

export const goodFiles = {
  'node.json': JSON.stringify(goodManifest, null, 2),
  'package.json': JSON.stringify(goodPackageJson, null, 2),
  'src/index.ts': 'export default async () => ({});\n',
};

/** A node package on disk: a good one, with files replaced, added, or (null) left out. */
export function packageDirectory(files: { [path: string]: string | Uint8Array | null } = {}): string {
  const dir = temporaryDirectory();
  for (const [path, content] of Object.entries({ ...goodFiles, ...files })) {
    if (content === null) continue;
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  return dir;
}

export function findingsOf(result: ReadResult): Finding[] {
  return result.ok ? result.warnings : result.findings;
}

export const told = (result: ReadResult): string[] =>
  findingsOf(result).map(({ rule, place, severity }) => `${severity} ${rule} ${place.file ?? ''}${place.path ?? ''}`);
