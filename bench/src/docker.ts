import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Engine } from '@glovebox/engine';
import { timed } from './timed.ts';

export type DockerPeer = {
  run(): Promise<number>;
  /** Leave nothing of it with the engine. */
  remove(): void;
} & ({ ready: true } | { ready: false; why: string });

/**
 * The peer `docker run`, with the flags that people harden it by, on an image of the same Node.js and the same bundle.
 * Not ready where no engine answers; `why` then has the command and what it printed.
 *
 * @param job.socketPath of an engine; that of the machine where it is left out.
 */
export async function dockerRun(
  engine: Engine,
  dir: string,
  job: { bundle: Uint8Array; input: unknown; say: (line: string) => void; socketPath?: string },
): Promise<DockerPeer> {
  const notReady = (why: string): DockerPeer => ({
    ready: false,
    run: () => Promise.reject(new Error('no engine')),
    remove: () => {},
    why,
  });
  // Two benchmarks at once must not take each other's image.
  const image = `glovebox-bench-run:${process.pid}`;
  const host = job.socketPath === undefined ? [] : ['--host', `unix://${job.socketPath}`];
  const version = spawnSync('docker', [...host, 'version', '--format', '{{.Server.Version}}'], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  if (version.status !== 0) {
    const said =
      `${version.stdout ?? ''}${version.stderr ?? version.error?.message ?? ''}`.trim().split('\n').at(-1) ?? '';
    return notReady(`docker version: ${said.slice(0, 200)}`);
  }
  job.say(`importing an image into Docker ${version.stdout.trim()} …`);
  const { rootfs } = await engine.images.current('runtime');
  const staged = join(dir, 'docker-rootfs');
  mkdirSync(staged);
  cpSync(rootfs, staged, { recursive: true });
  mkdirSync(join(staged, 'bench'));
  writeFileSync(join(staged, 'bench', 'bundle.mjs'), job.bundle);
  copyFileSync(fileURLToPath(new URL('./bare.mjs', import.meta.url)), join(staged, 'bench', 'bare.mjs'));
  const tar = spawn('tar', ['-C', staged, '-c', '.'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const load = spawn('docker', [...host, 'import', '-', image], { stdio: [tar.stdout, 'ignore', 'pipe'] });
  const code = await new Promise<number | null>((resolve) => load.on('close', resolve));
  rmSync(staged, { recursive: true, force: true });
  if (code !== 0) return notReady(`docker import: exit ${code}`);
  const hardened = [
    '--network',
    'none',
    '--read-only',
    '--cap-drop',
    'ALL',
    '--security-opt',
    'no-new-privileges',
    '-u',
    '65532:65532',
    '--memory',
    '256m',
    '--memory-swap',
    '256m',
    '--cpus',
    '1',
    '--pids-limit',
    '64',
    '--tmpfs',
    '/tmp:rw,noexec,nosuid,nodev,size=16m',
    '--log-driver',
    'none',
  ];
  const stdin = JSON.stringify({ bundle: '/bench/bundle.mjs', input: job.input, config: {} });
  return {
    ready: true,
    run: () =>
      timed('docker', [...host, 'run', '--rm', '-i', ...hardened, image, '/usr/bin/node', '/bench/bare.mjs'], stdin),
    remove: () => void spawnSync('docker', [...host, 'rmi', '--force', image], { stdio: 'ignore', timeout: 60_000 }),
  };
}
