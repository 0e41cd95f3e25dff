import { accessSync, constants, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { type Npmrc, parseNpmrc } from './npmrc.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface NpmConfigSources {
  env: Environment;
  /**
   * The directory of the operator's own project, whose `.npmrc` may name registries. Never that of a node package: its
   * author would choose which hosts this machine talks to.
   */
  projectDir?: string;
  /** Goes before everything that npm knows. */
  registry?: string;
  /** Certificate authorities in PEM, besides those that NODE_EXTRA_CA_CERTS names. */
  caFile?: string;
}

/** What npm would use, as far as fetching needs it. Holds secrets: never to be shown or logged. */
export interface NpmConfig {
  /** Ends with a slash. */
  registryFor(packageName: string): URL;
  /** Base URLs that a lockfile may name: npm's default, and whatever is configured. Without a slash at the end. */
  registries(): string[];
  /** For npm-registry-fetch: keys such as `//host/:_authToken`, which it sends to that host and path only. */
  credentials: Record<`//${string}`, string>;
  /** In PEM. `instead` of the default certificate authorities, and `besides` them. */
  authorities: { instead: string[]; besides: string[] };
  proxy: { HTTP_PROXY?: string; HTTPS_PROXY?: string; NO_PROXY?: string };
}

/** What npm's own library takes where nothing is configured. */
const publicRegistry: string = createRequire(import.meta.url)('npm-registry-fetch/lib/default-opts.js').registry;

/**
 * Read npm's configuration: environment, then project, user and global npmrc. Of the project's only registries are
 * taken, and nothing in it is replaced from the environment. `strict-ssl=false` is not honoured.
 *
 * @throws GloveboxError `REGISTRY_UNAVAILABLE` when the registry is not an http(s) URL.
 */
export function readNpmConfig({ env, projectDir, registry, caFile }: NpmConfigSources): NpmConfig {
  const fromEnv = environmentSettings(env);
  const userFile = fromEnv.get('userconfig')?.[0] ?? join(env.HOME ?? homedir(), '.npmrc');
  const layers = [
    fromEnv,
    projectDir === undefined
      ? new Map<string, string[]>()
      : registriesOnly(readSettings(join(projectDir, '.npmrc'), undefined)),
    readSettings(userFile, env),
    readSettings(globalFile(fromEnv, env), env),
  ];
  const all = (key: string): string[] => layers.find((layer) => layer.has(key))?.get(key) ?? [];
  const one = (key: string): string | undefined => all(key).at(-1) || undefined;

  const chosen = registry ?? one('registry') ?? publicRegistry;
  return {
    registryFor: (packageName) => {
      const scope = packageName.startsWith('@') ? packageName.slice(0, packageName.indexOf('/')) : undefined;
      const scoped = scope === undefined || registry !== undefined ? undefined : one(`${scope}:registry`);
      return registryUrl(scoped ?? chosen);
    },
    registries: () => {
      const scoped = layers.flatMap((layer) =>
        [...layer].filter(([key]) => /^@[^:]+:registry$/.test(key)).flatMap(([, texts]) => texts),
      );
      return [...new Set([publicRegistry, chosen, ...scoped].map((text) => registryUrl(text).href.replace(/\/$/, '')))];
    },
    credentials: credentialsOf(layers),
    authorities: {
      instead: [...all('ca').map((pem) => pem.replaceAll('\\n', '\n')), ...readPem(one('cafile'))].filter(
        (pem) => pem !== '',
      ),
      besides: [...new Set([env.NODE_EXTRA_CA_CERTS, caFile])].flatMap(readPem),
    },
    proxy: proxyOf(one, env),
  };
}

function registryUrl(text: string): URL {
  const url = URL.parse(text.trim().replace(/\/*$/, '/'));
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new GloveboxError('REGISTRY_UNAVAILABLE', {
      message: 'The registry that npm is configured with is not an http or https URL.',
    });
  }
  url.search = '';
  url.hash = '';
  return url;
}

/** `npm_config_*` in any case; keys that begin with `//` stay as they are. */
function environmentSettings(env: Environment): Npmrc {
  const found: Npmrc = new Map();
  for (const [name, value] of Object.entries(env)) {
    if (!/^npm_config_./i.test(name) || !value) continue;
    const key = name.slice('npm_config_'.length);
    found.set(/^\/\/|^@/.test(key) ? key : key.replaceAll(/(?!^)_/g, '-').toLowerCase(), [value]);
  }
  return found;
}

function readSettings(path: string | undefined, env: Environment | undefined): Npmrc {
  const text = path === undefined ? undefined : readText(path);
  return text === undefined ? new Map() : parseNpmrc(text, env);
}

const registriesOnly = (settings: Npmrc): Npmrc =>
  new Map([...settings].filter(([key]) => key === 'registry' || /^@[^:]+:registry$/.test(key)));

/** `<prefix>/etc/npmrc`, where the prefix is that of the Node.js on the PATH: ours is not the one that npm runs on. */
function globalFile(fromEnv: Npmrc, env: Environment): string | undefined {
  const named = fromEnv.get('globalconfig')?.[0];
  if (named !== undefined) return named;
  const prefix = fromEnv.get('prefix')?.[0] ?? env.PREFIX ?? prefixOnPath(env.PATH ?? '');
  return prefix === undefined ? undefined : join(prefix, 'etc/npmrc');
}

function prefixOnPath(path: string): string | undefined {
  for (const dir of path.split(delimiter).filter((part) => part.startsWith('/'))) {
    try {
      accessSync(join(dir, 'node'), constants.X_OK);
      return dirname(dirname(realpathSync(join(dir, 'node'))));
    } catch {}
  }
  return undefined;
}

function credentialsOf(layers: Npmrc[]): Record<`//${string}`, string> {
  const found: Record<`//${string}`, string> = {};
  for (const layer of layers.toReversed()) {
    for (const [key, values] of layer) if (key.startsWith('//')) found[key as `//${string}`] = values.at(-1) ?? '';
  }
  return found;
}

/** By `null` and `false` npm says that none is configured; then the environment counts. */
function proxyOf(one: (key: string) => string | undefined, env: Environment): NpmConfig['proxy'] {
  const configured = [one('https-proxy'), one('proxy')].find(
    (value) => value !== undefined && !['null', 'false'].includes(value),
  );
  const http = configured ?? env.http_proxy ?? env.HTTP_PROXY;
  const https = configured ?? env.https_proxy ?? env.HTTPS_PROXY;
  const except = one('noproxy') ?? one('no-proxy') ?? env.no_proxy ?? env.NO_PROXY;
  return {
    ...(http ? { HTTP_PROXY: http } : {}),
    ...(https ? { HTTPS_PROXY: https } : {}),
    ...(except ? { NO_PROXY: except } : {}),
  };
}

const readPem = (path: string | undefined): string[] => {
  const text = path === undefined ? undefined : readText(path);
  return text === undefined ? [] : [text];
};

/** npm and Node.js go on without a file that is not there; what is missing then shows when a host is talked to. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
