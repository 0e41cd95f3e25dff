import { isDeepStrictEqual } from 'node:util';
import { GloveboxError } from '@glovebox/contract';
import type { CreateBody, HostConfig } from './create-body.ts';
import type { EngineKind } from './engine-kind.ts';
import type { EngineContainer } from './engine-schemas.ts';
import { podmanLosses } from './podman-readback.ts';

/** Which property is lost where an engine keeps something else than it was told. */
const propertyOfHostConfig: Readonly<Record<keyof HostConfig, string>> = {
  Runtime: 'runtime',
  NetworkMode: 'namespace-network',
  ReadonlyRootfs: 'root-read-only',
  Privileged: 'capabilities-none',
  CapDrop: 'capabilities-none',
  SecurityOpt: 'seccomp',
  Memory: 'cgroup-memory',
  MemorySwap: 'cgroup-swap',
  NanoCpus: 'cgroup-cpu',
  PidsLimit: 'cgroup-pids',
  IpcMode: 'namespace-ipc',
  CgroupnsMode: 'namespace-cgroup',
  LogConfig: 'log-none',
  OomScoreAdj: 'rlimits',
  RestartPolicy: 'restart-none',
  Tmpfs: 'scratch-limited',
  Ulimits: 'rlimits',
  MaskedPaths: 'proc-masked',
  ReadonlyPaths: 'proc-masked',
};

const propertyOfConfig: Readonly<Record<Exclude<keyof CreateBody, 'Image' | 'HostConfig'>, string>> = {
  User: 'uid-own',
  Hostname: 'environment-fixed',
  Env: 'environment-fixed',
  Entrypoint: 'command-fixed',
  Cmd: 'command-fixed',
  WorkingDir: 'environment-fixed',
  Labels: 'ownership',
  NetworkDisabled: 'namespace-network',
  Healthcheck: 'command-fixed',
  Tty: 'descriptors-fixed',
  OpenStdin: 'descriptors-fixed',
  StdinOnce: 'descriptors-fixed',
  AttachStdin: 'descriptors-fixed',
  AttachStdout: 'descriptors-fixed',
  AttachStderr: 'descriptors-fixed',
};

/** What nobody asked for. Nothing, false and an empty list are all the same here. */
const unasked: Readonly<Record<string, string>> = {
  Annotations: 'runtime',
  // What became of a cell would go with it.
  AutoRemove: 'ownership',
  Binds: 'mounts-none-of-host',
  CapAdd: 'capabilities-none',
  CgroupParent: 'cgroup-memory',
  DeviceCgroupRules: 'devices-minimal',
  DeviceRequests: 'devices-minimal',
  Devices: 'devices-minimal',
  ExtraHosts: 'mounts-none-of-host',
  GroupAdd: 'uid-own',
  // A program of the engine's own, as the first process.
  Init: 'command-fixed',
  Links: 'namespace-network',
  Mounts: 'mounts-none-of-host',
  OomKillDisable: 'cgroup-memory',
  PidMode: 'namespace-pid',
  PortBindings: 'namespace-network',
  PublishAllPorts: 'namespace-network',
  Sysctls: 'environment-fixed',
  UTSMode: 'namespace-uts',
  UsernsMode: 'namespace-user',
  VolumesFrom: 'mounts-none-of-host',
};

const unaskedConfig: Readonly<Record<string, string>> = {
  // With a user namespace no runtime can set one.
  Domainname: 'environment-fixed',
};

/** Where the host has AppArmor, an engine uses a profile of its own, which takes away and gives nothing. */
const keptProfiles = ['', 'docker-default'];

/**
 * Hold what an engine says that it made against what it was told, before anything runs. An engine, or what stands before
 * it, that leaves out or adds something is refused by the property that is lost.
 *
 * @throws GloveboxError `ENGINE_REFUSED`.
 */
export function checkReadback(kind: EngineKind, asked: CreateBody, told: EngineContainer): void {
  const lost = kind === 'podman' ? podmanLosses(asked, told) : lostProperties(asked, told);
  if (lost.length === 0) return;
  throw new GloveboxError('ENGINE_REFUSED', {
    message: `The container engine did not take what it was told: ${[...new Set(lost)].sort().join(', ')}.`,
  });
}

function lostProperties(asked: CreateBody, told: EngineContainer): string[] {
  const { HostConfig: askedHost, Image, ...askedConfig } = asked;
  return [
    ...(told.Image === Image ? [] : ['image']),
    ...differing(askedHost, told.HostConfig, propertyOfHostConfig),
    ...differing(askedConfig, told.Config, propertyOfConfig),
    ...added(told.HostConfig, unasked),
    ...added(told.Config, unaskedConfig),
    // What will be executed, as the engine made it of the command.
    ...(isDeepStrictEqual([told.Path, ...told.Args], asked.Cmd) ? [] : ['command-fixed']),
    ...(keptProfiles.includes(told.AppArmorProfile) ? [] : ['apparmor']),
    // One that has run has said something to nobody.
    ...(told.State.Status === 'created' && !told.State.Running ? [] : ['not-started']),
    // A tmpfs is no mount point of the engine's; an image that declares volumes would have some.
    ...((told.Mounts ?? []).length === 0 ? [] : ['mounts-none-of-host']),
    ...(Object.keys(told.NetworkSettings?.Networks ?? {}).some((name) => name !== 'none') ? ['namespace-network'] : []),
  ];
}

function differing<T extends object>(
  asked: T,
  told: Readonly<Record<string, unknown>>,
  properties: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(asked)
    .filter(([key, value]) => !isSame(value, told[key]))
    .map(([key]) => properties[key] ?? key);
}

const added = (told: Readonly<Record<string, unknown>>, properties: Readonly<Record<string, string>>): string[] =>
  Object.entries(properties).flatMap(([key, property]) => (isNothing(told[key]) ? [] : [property]));

const isSame = (asked: unknown, told: unknown): boolean =>
  (isNothing(asked) && isNothing(told)) || isDeepStrictEqual(asked, told);

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  value === 0 ||
  (typeof value === 'object' && Object.keys(value).length === 0);
