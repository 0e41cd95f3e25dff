import { cellPaths } from '@glovebox/cell';
import type { ContainerLimits, CreateBody } from './create-body.ts';

/** The part of Podman's own words for a new container that cells use. Names are those of its API, `libpod`. */
export interface PodmanSpec {
  name: string;
  image: string;
  user: string;
  hostname: string;
  env: Record<string, string>;
  command: string[];
  work_dir: string;
  labels: Record<string, string>;
  mask: string[];
  mounts: { destination: string; type: 'bind'; source: string; options: string[] }[];
  volumes: { Name: string; Dest: string; Options: string[] }[];
  r_limits: { type: string; soft: number; hard: number }[];
  resource_limits: object;
  [other: string]: unknown;
}

/** What Podman makes of a volume of its own: a tmpfs whose size is told in blocks, as it takes `size` for a quota. */
export interface PodmanVolume {
  Name: string;
  Driver: 'local';
  Label: Record<string, string>;
  Options: { type: 'tmpfs'; device: 'tmpfs'; o: string };
}

const quotaPeriodUs = 100_000;
const blockBytes = 4096;

/** Podman has a default list of system calls where it is given none. */
const seccompOption = 'seccomp=';

/** The text of the system-call list in a body. Undefined where a test took it away. */
export const seccompOfBody = ({ HostConfig }: CreateBody): string | undefined =>
  HostConfig.SecurityOpt.find((option) => option.startsWith(seccompOption))?.slice(seccompOption.length);

/** In microseconds of each period. */
export const cpuQuota = (nanoCpus: number): { quota: number; period: number } => ({
  quota: Math.round((nanoCpus / 1e9) * quotaPeriodUs),
  period: quotaPeriodUs,
});

/**
 * The same container in Podman's own words. Its Docker words leave out half of it without a word: namespaces of ipc and
 * cgroups, masked and read-only paths, the owner and the number of files of a tmpfs.
 *
 * @param scratch name of the volume for the scratch directory.
 * @param seccompPath of a file that Podman reads while it makes the container, and never again.
 */
export function podmanSpec(
  body: CreateBody,
  name: string,
  scratch: string,
  seccompPath: string | undefined,
): PodmanSpec {
  const { HostConfig: host } = body;
  const isDevice = (path: string): boolean => path.startsWith('/dev/') && path !== '/dev/tty';
  return {
    name,
    image: body.Image.replace(/^sha256:/, ''),
    user: body.User,
    hostname: body.Hostname,
    // Without the variables that Podman gives every container, but for the host name's.
    unsetenvall: true,
    httpproxy: false,
    env: Object.fromEntries(
      body.Env.filter((entry) => entry.includes('=')).map((entry) => {
        const at = entry.indexOf('=');
        return [entry.slice(0, at), entry.slice(at + 1)];
      }),
    ),
    entrypoint: body.Entrypoint,
    command: body.Cmd,
    work_dir: body.WorkingDir,
    labels: body.Labels,
    terminal: body.Tty,
    stdin: body.OpenStdin,
    log_configuration: { driver: host.LogConfig.Type },
    restart_policy: host.RestartPolicy.Name,
    ...(host.Runtime === undefined ? {} : { oci_runtime: host.Runtime }),
    systemd: 'false',
    sdnotifyMode: 'ignore',
    init: false,
    // Accounts, names of hosts and resolvers: files of the engine's that it would mount.
    manage_password: false,
    use_image_hosts: true,
    use_image_resolve_conf: true,
    image_volume_mode: 'ignore',
    pidns: { nsmode: 'private' },
    utsns: { nsmode: 'private' },
    userns: { nsmode: 'host' },
    ipcns: { nsmode: host.IpcMode },
    cgroupns: { nsmode: host.CgroupnsMode },
    netns: { nsmode: body.NetworkDisabled ? host.NetworkMode : 'private' },
    privileged: host.Privileged,
    cap_drop: host.CapDrop,
    no_new_privileges: host.SecurityOpt.includes('no-new-privileges'),
    seccomp_profile_path: seccompPath ?? 'unconfined',
    read_only_filesystem: host.ReadonlyRootfs,
    mask: host.MaskedPaths,
    // It cannot be told to make a path read-only, but can mount the host's devices so.
    mounts: host.ReadonlyPaths.filter(isDevice).map((path) => ({
      destination: path,
      type: 'bind',
      source: path,
      options: ['bind', 'ro', 'noexec', 'nosuid', 'private'],
    })),
    volumes: [{ Name: scratch, Dest: cellPaths.scratch, Options: ['rw', 'noexec', 'nosuid', 'nodev', 'nocopy'] }],
    oom_score_adj: host.OomScoreAdj,
    r_limits: host.Ulimits.map(({ Name, Soft, Hard }) => ({ type: Name.toUpperCase(), soft: Soft, hard: Hard })),
    resource_limits: podmanLimits(host),
  };
}

/** Zero is no limit. */
export const podmanLimits = ({ Memory, MemorySwap, NanoCpus, PidsLimit }: ContainerLimits): object => ({
  ...(Memory > 0 && { memory: { limit: Memory, swap: MemorySwap } }),
  ...(NanoCpus > 0 && { cpu: cpuQuota(NanoCpus) }),
  ...(PidsLimit > 0 && { pids: { limit: PidsLimit } }),
});

/** The scratch directory of a body as a volume, which Podman mounts when the container starts, and not before. */
export function podmanScratch(body: CreateBody, name: string): PodmanVolume {
  const given = (body.HostConfig.Tmpfs[cellPaths.scratch] ?? '').split(',');
  const options = given.flatMap((option) => {
    if (option === 'rw') return [];
    const size = /^size=(\d+)$/.exec(option)?.[1];
    return size === undefined ? [option] : [`nr_blocks=${Math.ceil(Number(size) / blockBytes)}`];
  });
  return {
    Name: name,
    Driver: 'local',
    Label: body.Labels,
    Options: { type: 'tmpfs', device: 'tmpfs', o: options.join(',') },
  };
}
