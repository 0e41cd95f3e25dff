import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '@glovebox/engine';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dockerRun } from './docker.ts';

/** A program that speaks as much of the command line of Docker as is used here, and keeps a list of its images. */
const docker = `#!/bin/sh
images="$(dirname "$0")/images"
case "$1" in
  version) echo 99.9 ;;
  import) cat > /dev/null; [ -e "$(dirname "$0")/full" ] && exit 1; echo "$3" >> "$images" ;;
  rmi) grep -vxF "$3" "$images" > "$images.new"; mv "$images.new" "$images" ;;
esac
`;
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'glovebox-docker-peer-'));
  mkdirSync(join(dir, 'rootfs'));
  writeFileSync(join(dir, 'docker'), docker, { mode: 0o755 });
  writeFileSync(join(dir, 'images'), 'of-somebody-else\n');
  vi.stubEnv('PATH', `${dir}:${process.env.PATH}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const open = () =>
  dockerRun({ images: { current: async () => ({ rootfs: join(dir, 'rootfs') }) } } as unknown as Engine, dir, {
    bundle: Buffer.from(''),
    input: {},
    say: () => {},
  });
const images = (): string[] => readFileSync(join(dir, 'images'), 'utf8').trim().split('\n');

it('leaves no image with the engine once it is removed, and those of others alone', async () => {
  const peer = await open();
  expect(peer.ready).toBe(true);
  expect(images()).toHaveLength(2);
  peer.remove();
  expect(images()).toEqual(['of-somebody-else']);
});

it('says why it is not ready, and has nothing to remove then', async () => {
  writeFileSync(join(dir, 'full'), '');
  const peer = await open();
  expect(peer).toMatchObject({ ready: false, why: 'docker import: exit 1' });
  peer.remove();
  expect(images()).toEqual(['of-somebody-else']);
});
