// @ts-check
import { delimiter } from 'node:path';

/**
 * Environments are built from nothing, never copied: NODE_OPTIONS, NODE_PATH and the like would change what the tasks
 * are, and NODE_EXTRA_CA_CERTS costs some Node.js versions as much as their whole start.
 */

const everywhere = [
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_ALL',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'FORCE_COLOR',
  'TZ',
  'TMPDIR',
  'CI',
];
const proxies = [
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'all_proxy',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
];
const systemDirectories = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/**
 * Where commands are looked for: PATH without the directories that npm puts in front of it (they hold what is about to
 * be replaced), with the system's directories behind it (a plain user's PATH has no sbin, where runtimes live).
 * @param {NodeJS.ProcessEnv} env
 */
export function searchPath(env) {
  const own = (env.PATH ?? '')
    .split(delimiter)
    .filter((dir) => dir.startsWith('/') && !/\/node_modules\/\.bin\/?$|\/node-gyp-bin\/?$/.test(dir));
  return [...new Set([...own, ...systemDirectories])];
}

/**
 * For the task itself.
 * @param {NodeJS.ProcessEnv} env
 */
export function taskEnvironment(env) {
  const out = pick(env, (name) => everywhere.includes(name) || proxies.includes(name) || /^(XDG|GLOVEBOX)_/.test(name));
  out.PATH = searchPath(env).join(delimiter);
  for (const name of ['npm_config_registry', 'npm_config_userconfig']) {
    const value = env[name] ?? env[name.toUpperCase()];
    if (value) out[name] = value;
  }
  // The registry adapter reads the file when it connects; no other process pays for it.
  const ca = env.GLOVEBOX_EXTRA_CA ?? env.NODE_EXTRA_CA_CERTS ?? env.npm_config_cafile;
  if (ca) out.GLOVEBOX_EXTRA_CA = ca;
  return out;
}

/**
 * For npm: its own configuration, whatever says it, and the CA file. Not what would make it install something else.
 * @param {NodeJS.ProcessEnv} env
 */
export function npmEnvironment(env) {
  const steering =
    /^npm_config_(omit|include|only|production|workspaces?|global|prefix|dry_run|package_lock(_only)?|json|loglevel)$/i;
  const out = pick(
    env,
    (name) =>
      everywhere.includes(name) ||
      proxies.includes(name) ||
      name.startsWith('XDG_') ||
      name === 'NODE_EXTRA_CA_CERTS' ||
      (/^npm_config_/i.test(name) && !steering.test(name)),
  );
  out.PATH = searchPath(env).join(delimiter);
  return out;
}

/**
 * For apt-get and dpkg: no question is ever asked, messages in one language.
 * @param {NodeJS.ProcessEnv} env
 */
export function aptEnvironment(env) {
  const out = pick(env, (name) => name === 'HOME' || proxies.includes(name));
  return { ...out, PATH: searchPath(env).join(delimiter), LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {(name: string) => boolean} keep
 */
function pick(env, keep) {
  /** @type {Record<string, string>} */
  const out = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined && keep(name)) out[name] = value;
  return out;
}
