// @ts-check
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmEnvironment, searchPath } from './environment.mjs';
import { launch } from './launch.mjs';
import { canRun } from './needs.mjs';
import { SetupError } from './setup-error.mjs';

/**
 * What `npm ci` brings for the clone itself, in MiB, as measured on linux-x64 with an empty cache. A test compares it
 * with what lies in node_modules.
 */
export const measuredMiB = { download: 185, disk: 485 };

/** Where a finished installation says which lockfile it is of. npm removes it with everything else when it starts. */
const stampName = join('node_modules', '.glovebox-setup.json');

/**
 * @param {string} tree a directory with a package-lock.json
 * @returns {boolean} whether node_modules is what the lockfile says, by a finished installation of ours
 */
export function isInstalled(tree) {
  try {
    return readFileSync(join(tree, stampName), 'utf8') === stampOf(tree);
  } catch {
    return false;
  }
}

/** @param {string} tree */
export function countPackages(tree) {
  return Object.entries(readLockfile(tree)).filter(
    ([path, entry]) => path.includes('node_modules/') && !entry.link && isForThisPlatform(entry),
  ).length;
}

/**
 * Install exactly what the lockfile says, development and optional packages too, from the registry that npm is
 * configured for.
 * @param {string} tree
 * @param {NodeJS.ProcessEnv} env
 */
export async function install(tree, env) {
  const npm = searchPath(env)
    .map((dir) => join(dir, 'npm'))
    .find(canRun);
  if (npm === undefined)
    throw new SetupError('HOST_UNSUPPORTED', 'npm is not on PATH.', 'Install npm; it comes with Node.js.');
  // Computed first: a lockfile that changes meanwhile must not pass for installed.
  const stamp = stampOf(tree);
  rmSync(join(tree, stampName), { force: true });
  const args = [
    'ci',
    '--include=dev',
    '--include=optional',
    '--include=peer',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  // What npm says goes to stderr: stdout is the task's.
  const code = await launch(npm, args, { cwd: tree, env: npmEnvironment(env), stdio: ['ignore', 2, 2] });
  if (code !== 0) {
    throw new SetupError(
      'SETUP_INSTALL_FAILED',
      `npm ci ended with ${code} in ${tree}.`,
      'npm says why above. Check the network and `npm config get registry`, then run the same command again.',
    );
  }
  // npm makes no directory where there is nothing to install.
  mkdirSync(join(tree, 'node_modules'), { recursive: true });
  const unfinished = join(tree, `${stampName}.${process.pid}`);
  writeFileSync(unfinished, stamp);
  renameSync(unfinished, join(tree, stampName));
}

/**
 * Of what npm would install: the lockfile without what it repeats from the package.json files of the clone, so that a
 * new arrow between two of its packages is no reason to install everything again.
 * @param {string} tree
 */
function stampOf(tree) {
  const installed = Object.entries(readLockfile(tree)).filter(([path]) => path.includes('node_modules/'));
  const digest = createHash('sha256').update(JSON.stringify(installed)).digest('hex');
  return `${JSON.stringify({ installed: `sha256:${digest}`, platform: `${process.platform}-${process.arch}` })}\n`;
}

/**
 * @typedef {{ link?: boolean, os?: string[], cpu?: string[], libc?: string[] }} LockEntry
 * @param {string} tree
 * @returns {Record<string, LockEntry>} by path
 */
function readLockfile(tree) {
  const path = join(tree, 'package-lock.json');
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch (error) {
    throw new SetupError(
      'SETUP_INSTALL_FAILED',
      `${path} cannot be read: ${error instanceof Error ? error.message : error}`,
      'Restore it: git checkout -- package-lock.json',
    );
  }
}

/** @param {LockEntry} entry */
function isForThisPlatform({ os, cpu, libc }) {
  return (
    (os === undefined || os.includes(process.platform)) &&
    (cpu === undefined || cpu.includes(process.arch)) &&
    (libc === undefined || libc.includes('glibc'))
  );
}
