import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EngineTls, makeEngineCertificates, openTlsDoor, tlsPort } from './docker-engine-tls.ts';
import { engineName, type RunningEngine, startEngine } from './engine-process.ts';

export interface DockerEngineOptions {
  /** What runs a container that names no runtime. */
  runtime?: 'runc' | 'crun';
  /** More runtimes, by their names: paths of programs. */
  runtimes?: Readonly<Record<string, string>>;
  /** Containers run in a user namespace: their uid 0 is `remappedRootUid` of the host. */
  usernsRemap?: true;
  /** Containers stay alive while the engine is away. */
  liveRestore?: true;
  /** It is reachable by TCP too, with certificates in both directions. */
  tls?: true;
}

export interface DockerEngine extends RunningEngine {
  /** With `tls` only. */
  tls: EngineTls | undefined;
}

/** The host uid of uid 0 in the containers of an engine with `usernsRemap`. */
export const remappedRootUid = 700_000;
const remappedUids = 65_536;

/**
 * A real dockerd. It shares nothing with an engine of this machine, which need not run. It knows the runtimes runc, crun
 * and runsc, as far as they are installed.
 */
export async function startDockerEngine(options: DockerEngineOptions = {}): Promise<DockerEngine> {
  const engine = await startEngine({
    prepare: (home) => {
      if (options.tls) makeEngineCertificates(home);
      writeFileSync(join(home, 'daemon.json'), JSON.stringify(configuration(home, options)));
    },
    command: (home) => ['dockerd', '--config-file', join(home, 'daemon.json')],
    setUp: options.usernsRemap ? remapSetUp : '',
    ownsCgroup: (path, home) => path.split('/')[1] === engineName(home),
  });
  if (!options.tls) return { ...engine, tls: undefined };
  const door = await openTlsDoor(engine);
  const stop = async (): Promise<void> => {
    await door.close();
    await engine.stop();
  };
  return { ...engine, tls: door.client, stop };
}

function configuration(home: string, options: DockerEngineOptions): object {
  const tls = {
    hosts: [`unix://${join(home, 'sock')}`, `tcp://127.0.0.1:${tlsPort}`],
    tlsverify: true,
    tlscacert: join(home, 'ca.pem'),
    tlscert: join(home, 'server.pem'),
    tlskey: join(home, 'server.key'),
  };
  return {
    hosts: [`unix://${join(home, 'sock')}`],
    ...(options.tls && tls),
    'data-root': join(home, 'root'),
    'exec-root': join(home, 'exec'),
    pidfile: join(home, 'pid'),
    'exec-opts': ['native.cgroupdriver=cgroupfs'],
    'cgroup-parent': `/${engineName(home)}`,
    bridge: 'none',
    iptables: false,
    'ip-forward': false,
    'ip-masq': false,
    'log-level': 'warn',
    'live-restore': options.liveRestore ?? false,
    'default-runtime': options.runtime ?? 'runc',
    runtimes: Object.fromEntries(
      ['crun', 'runsc']
        .map((name): [string, string] => [name, `/usr/bin/${name}`])
        .filter(([, path]) => existsSync(path))
        .concat(Object.entries(options.runtimes ?? {}))
        .map(([name, path]) => [name, { path }]),
    ),
    ...(options.usernsRemap && { 'userns-remap': remapUser }),
  };
}

const remapUser = 'gb-remap';

/** The engine reads the host's accounts. In its mount namespace they are a copy that has one more. */
const remapSetUp = `
echo '${remapUser}:x:${remappedRootUid}:${remappedRootUid}::/nonexistent:/bin/false' >>/etc/passwd
echo '${remapUser}:x:${remappedRootUid}:' >>/etc/group
echo '${remapUser}:${remappedRootUid}:${remappedUids}' | tee /etc/subuid >/etc/subgid
`;
