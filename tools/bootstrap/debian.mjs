// @ts-check
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptEnvironment, searchPath } from './environment.mjs';
import { launch } from './launch.mjs';
import { canRun } from './needs.mjs';
import { SetupError } from './setup-error.mjs';

const installFlags = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0'];

/**
 * Everything that would be installed, dependencies too.
 * @typedef {{ packages: string[], downloadBytes: number, diskBytes: number }} Plan
 */

/** Whether this is a system on which `apt-get` installs packages. @param {NodeJS.ProcessEnv} env */
export function isDebian(env) {
  return (
    searchPath(env).some((dir) => canRun(join(dir, 'apt-get'))) &&
    /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(osRelease())
  );
}

/** What this system calls itself, for messages. */
export function systemName() {
  return /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease())?.[1] ?? 'this system';
}

/** The command that does by hand what {@link installPackages} does. @param {string[]} packages */
export function aptCommand(packages) {
  const privilege = process.getuid?.() === 0 ? '' : 'sudo ';
  return `${privilege}apt-get install -y --no-install-recommends ${packages.join(' ')}`;
}

/**
 * What installing would fetch and fill. Reads apt's lists and changes nothing; needs no root.
 * @param {string[]} packages
 * @param {NodeJS.ProcessEnv} env
 * @returns {Plan | undefined} undefined where apt's lists are missing or do not know a package
 */
export function planPackages(packages, env) {
  const install = ['install', '-qq', ...installFlags, '-o', 'Debug::NoLocking=1'];
  try {
    const simulated = apt('apt-get', [...install, '--simulate', ...packages], env);
    const names = [...simulated.matchAll(/^Inst (\S+)/gm)].map(([, name]) => /** @type {string} */ (name));
    // 'uri' file bytes hash; nothing for what apt has already fetched
    const uris = apt('apt-get', [...install, '--print-uris', ...packages], env);
    const shown = names.length === 0 ? '' : apt('apt-cache', ['show', '--no-all-versions', ...names], env);
    return {
      packages: names,
      downloadBytes: sum(uris, /^'[^']*' \S+ (\d+) /gm),
      diskBytes: sum(shown, /^Installed-Size: (\d+)$/gm) * 1024,
    };
  } catch {
    // Whatever it is, installing tells.
    return undefined;
  }
}

/**
 * @param {string} text
 * @param {RegExp} number
 */
function sum(text, number) {
  return [...text.matchAll(number)].reduce((total, [, digits]) => total + Number(digits), 0);
}

/**
 * Install packages. Reads the archive's lists anew only where apt does not know a package, or where installing failed
 * (the lists may name files that the archive no longer has).
 *
 * @param {string[]} packages
 * @param {NodeJS.ProcessEnv} env
 * @param {(line: string) => void} say
 */
export async function installPackages(packages, env, say) {
  let listsAreNew = false;
  const refresh = async () => {
    say('apt-get update');
    listsAreNew = true;
    return (await aptGet(['update', '-qq'], env)) === 0;
  };
  if (planPackages(packages, env) === undefined) {
    await refresh();
    const plan = planPackages(packages, env);
    if (plan === undefined) {
      throw new SetupError(
        'SETUP_INSTALL_FAILED',
        `apt does not know ${packages.join(', ')}.`,
        `Check the sources of apt, then run: ${aptCommand(packages)}`,
      );
    }
    say(describePlan(plan));
  }
  say(aptCommand(packages));
  let code = await aptGet(['install', '-qq', ...installFlags, ...packages], env);
  if (code !== 0 && !listsAreNew && (await refresh()))
    code = await aptGet(['install', '-qq', ...installFlags, ...packages], env);
  if (code !== 0) {
    throw new SetupError(
      'SETUP_INSTALL_FAILED',
      `apt-get ended with ${code}.`,
      `apt says why above. Run it by hand: ${aptCommand(packages)}`,
    );
  }
}

/** @param {Plan} plan */
export function describePlan({ packages, downloadBytes, diskBytes }) {
  const count = `${packages.length} package${packages.length === 1 ? '' : 's'}`;
  return `${count} (${packages.join(', ')}), ${mib(downloadBytes)} to fetch, ${mib(diskBytes)} on disk`;
}

/** @param {number} bytes */
function mib(bytes) {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function aptGet(args, env) {
  return launch('apt-get', args, { cwd: '/', env: aptEnvironment(env), stdio: ['ignore', 2, 2] });
}

/**
 * @param {string} file
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function apt(file, args, env) {
  return execFileSync(file, args, {
    env: aptEnvironment(env),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 60_000,
  });
}

function osRelease() {
  for (const path of ['/etc/os-release', '/usr/lib/os-release']) {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      // The next one.
    }
  }
  return '';
}
