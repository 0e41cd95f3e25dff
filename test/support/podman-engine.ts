import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningEngine, startEngine } from './engine-process.ts';

/** A real Podman service. It shares nothing with the Podman of this machine. */
export async function startPodmanEngine(options: { runtime?: 'runc' | 'crun' } = {}): Promise<RunningEngine> {
  const runtime = options.runtime ?? 'runc';
  return startEngine({
    command: (home) => [
      ...['podman', '--root', join(home, 'root'), '--runroot', join(home, 'run'), '--tmpdir', join(home, 'tmp')],
      ...['--runtime', runtime, '--cgroup-manager', 'cgroupfs', '--events-backend', 'file'],
      ...['--log-level', 'warn', 'system', 'service', '--time', '0', `unix://${join(home, 'sock')}`],
    ],
    // The folder of all of them is Podman's own, and another may be using it.
    ownsCgroup: (path, home) => {
      const [, folder, name] = path.split('/');
      if (folder === 'libpod_parent' && name === undefined) return false;
      return containersOf(home).some((id) => path.includes(id));
    },
  });
}

function containersOf(home: string): string[] {
  try {
    return readdirSync(join(home, 'root', 'overlay-containers')).filter((name) => /^[0-9a-f]{64}$/.test(name));
  } catch {
    return [];
  }
}
