import { tmpdir } from 'node:os';
import { GloveboxError } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { programError } from './build-errors.ts';

const failed = (reason: string): GloveboxError => new GloveboxError('IMAGE_BUILD_FAILED', { message: reason });
const ended = (stderr: string, code?: string) => Object.assign(new Error('it ended'), { stderr, code });

it.each([
  ['says so', ended('Failed to write to output file: write bundle.js: no space left on device\n')],
  ['could not be given its input', ended('', 'ENOSPC')],
])('tells a full disk by its code where a program %s, though there is room again', async (_, error) => {
  expect(await programError(error, tmpdir(), failed)).toMatchObject({ code: 'DISK_FULL', cause: error });
});

it('tells what else a program failed of by its first line, or by how it ended', async () => {
  const told = async (stderr: string) => (await programError(ended(stderr), tmpdir(), failed)).message;
  expect(await told('Could not resolve "x"\nmore\n')).toBe('Could not resolve "x"');
  expect(await told('')).toBe('it ended');
});
