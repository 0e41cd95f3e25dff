import type { CreateBody } from '@glovebox/cell-docker';
import type { EngineLies } from './engine-proxy.ts';

/** Something that an engine is not told, or told besides, and the property of cells that is lost by it. */
export interface Omission {
  what: string;
  property: string;
  change(body: CreateBody): object;
}

const inHost = (more: object) => (body: CreateBody) => ({ ...body, HostConfig: { ...body.HostConfig, ...more } });

const device = { PathOnHost: '/dev/null', PathInContainer: '/dev/other', CgroupPermissions: 'rwm' };

/** Those that a cell can see of itself, or that show in what becomes of it. */
export const visibleOmissions: readonly Omission[] = [
  { what: 'the memory limit', property: 'cgroup-memory', change: inHost({ Memory: 0, MemorySwap: 0 }) },
  { what: 'the limit of processes', property: 'cgroup-pids', change: inHost({ PidsLimit: 0 }) },
  { what: 'the share of processor time', property: 'cgroup-cpu', change: inHost({ NanoCpus: 0 }) },
  {
    what: 'the system-call list',
    property: 'seccomp',
    change: inHost({ SecurityOpt: ['no-new-privileges', 'seccomp=unconfined'] }),
  },
  { what: 'the read-only root', property: 'root-read-only', change: inHost({ ReadonlyRootfs: false }) },
  { what: 'the user', property: 'uid-own', change: (body) => ({ ...body, User: '4242:4242' }) },
  { what: 'the scratch directory', property: 'scratch-limited', change: inHost({ Tmpfs: {} }) },
  { what: 'the masked paths', property: 'proc-own-processes', change: inHost({ MaskedPaths: [] }) },
  { what: 'the pid namespace', property: 'namespace-pid', change: inHost({ PidMode: 'host' }) },
  { what: 'the limits of a process', property: 'rlimits', change: inHost({ Ulimits: [] }) },
  {
    what: 'no network',
    property: 'namespace-network',
    change: (body) => ({ ...inHost({ NetworkMode: 'host' })(body), NetworkDisabled: false }),
  },
  { what: 'a directory of the host', property: 'mounts-none-of-host', change: inHost({ Binds: ['/etc:/mnt'] }) },
];

/** All of them; of the others nothing shows in a cell that does no wrong. */
export const omissions: readonly Omission[] = [
  ...visibleOmissions.map((one) => (one.what === 'the masked paths' ? { ...one, property: 'proc-masked' } : one)),
  { what: 'that swap counts', property: 'cgroup-swap', change: inHost({ MemorySwap: -1 }) },
  { what: 'that capabilities go', property: 'capabilities-none', change: inHost({ CapDrop: [] }) },
  { what: 'a capability', property: 'capabilities-none', change: inHost({ CapAdd: ['SYS_ADMIN'] }) },
  { what: 'all privileges', property: 'capabilities-none', change: inHost({ Privileged: true }) },
  { what: 'a device', property: 'devices-minimal', change: inHost({ Devices: [device] }) },
  { what: 'no log', property: 'log-none', change: inHost({ LogConfig: { Type: 'json-file', Config: {} } }) },
  {
    what: 'another program',
    property: 'command-fixed',
    change: (body) => ({ ...body, Cmd: ['/usr/bin/node', '-e', '1'] }),
  },
  {
    what: 'a variable',
    property: 'environment-fixed',
    change: (body) => ({ ...body, Env: [...body.Env, 'NODE_OPTIONS=--inspect'] }),
  },
  { what: 'a first process of its own', property: 'command-fixed', change: inHost({ Init: true }) },
  { what: 'that it goes by itself', property: 'ownership', change: inHost({ AutoRemove: true }) },
  { what: 'another cgroup above it', property: 'cgroup-memory', change: inHost({ CgroupParent: '/elsewhere' }) },
  { what: 'a domain', property: 'environment-fixed', change: (body) => ({ ...body, Domainname: 'example' }) },
  {
    what: 'a new start',
    property: 'restart-none',
    change: inHost({ RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } }),
  },
];

/** The engine is told something else, and nobody hides that. */
export const leavingOut = ({ change }: Omission): EngineLies => ({
  request: ({ path, json }) => (path === '/containers/create' ? change(json as CreateBody) : undefined),
});

/** The same, and the client is told that all is as it asked. */
export function hiding(omission: Omission): EngineLies {
  const asked = new Map<string, CreateBody>();
  return {
    ...leavingOut(omission),
    answer: (request, answer) => {
      if (request.path === '/containers/create' && answer.status === 201)
        asked.set((answer.json as { Id: string }).Id, request.json as CreateBody);
      const body = asked.get(/^\/containers\/([0-9a-f]{64})\/json$/.exec(request.path)?.[1] ?? '');
      if (body === undefined || answer.status !== 200) return answer;
      const { HostConfig, Image: _, ...Config } = body;
      const told = answer.json as { Config: object; HostConfig: object };
      const json = {
        ...told,
        Config: { ...told.Config, ...Config },
        HostConfig: { ...told.HostConfig, ...unasked, ...HostConfig },
        Mounts: [],
        NetworkSettings: {},
      };
      return { ...answer, json };
    },
  };
}

const unasked = { Binds: null, PidMode: '', CapAdd: null, Devices: [], Privileged: false };
