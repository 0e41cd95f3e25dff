import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { packCli } from '../../tools/pack-cli.ts';
import { placeNode } from './cell-rootfs.ts';

export interface ContainerRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A root directory with Node.js, its libraries and the packed command line, and what is handed over: nothing else. */
export interface EmptyContainer {
  /** Copy a file into `/in`. @returns its path there. */
  handOver(path: string, name?: string): string;
  /** Run Node.js in it, as nobody: namespaces of its own, no network, no /proc, no /dev, no environment. */
  node(...args: string[]): Promise<ContainerRun>;
  /** Run the packed command line. */
  glovebox(...args: string[]): Promise<ContainerRun>;
  /** Every file in it but those that were handed over, by what it is there for. */
  contents(): { runtime: string[]; cli: string[]; others: string[] };
}

const nodePath = '/usr/bin/node';
const namespaces = ['--net', '--mount', '--pid', '--fork', '--ipc', '--uts'];

export async function makeEmptyContainer(root: string): Promise<EmptyContainer> {
  mkdirSync(join(root, 'in'), { recursive: true });
  const runtime = placeNode(root, nodePath).sort();
  await packCli(join(root, 'cli'));
  const node = (...args: string[]): Promise<ContainerRun> =>
    runHere('unshare', [...namespaces, 'chroot', '--userspec=65534:65534', '--groups=', root, nodePath, ...args]);
  return {
    handOver(path, name = basename(path)) {
      copyFileSync(path, join(root, 'in', name));
      chmodSync(join(root, 'in', name), 0o644);
      return `/in/${name}`;
    },
    node,
    glovebox: (...args) => node('--disallow-code-generation-from-strings', '/cli/bin/glovebox.mjs', ...args),
    contents() {
      const files = globSync('**', { cwd: root, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
        .filter((path) => !path.startsWith('/in/'));
      const cli = files.filter((path) => path.startsWith('/cli/'));
      return { runtime, cli, others: files.filter((path) => !cli.includes(path) && !runtime.includes(path)) };
    },
  };
}

function runHere(program: string, args: string[]): Promise<ContainerRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } });
    let [stdout, stderr] = ['', ''];
    child.stdin.end();
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}
