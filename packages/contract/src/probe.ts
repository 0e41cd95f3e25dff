import { z } from 'zod';

/**
 * What a probe cell tells of itself; see guest/src/probe.ts. `null` means that it could not be read. The document comes
 * from inside a cell in which only code of ours has run, and is checked all the same.
 */
const lines = z.array(z.string()).nullable();

export const probeDocumentSchema = z.strictObject({
  schema: z.literal('glovebox.probe/1'),
  node: z.string(),
  arch: z.string(),
  argv: z.array(z.string()),
  execArgv: z.array(z.string()),
  cwd: z.string(),
  pid: z.int(),
  ppid: z.int(),
  session: z.int(),
  /** Device number of the controlling terminal; 0 is none. */
  terminal: z.int(),
  ids: z.strictObject({ uid: z.int(), euid: z.int(), gid: z.int(), egid: z.int() }),
  umask: z.int(),
  /** /proc/self/status, by field. */
  status: z.record(z.string(), z.string()),
  uidMap: lines,
  gidMap: lines,
  oomScoreAdj: z.number().nullable(),
  limits: lines,
  cgroup: lines,
  namespaces: z.record(z.string(), z.string().nullable()),
  mounts: lines,
  /** What each mount point leads to: `empty directory`, `directory`, a device as `c 1:3`, `other`, or an error code. */
  mounted: z.record(z.string(), z.string()),
  network: z.strictObject({
    devices: lines,
    routes: lines,
    routes6: lines,
    addresses6: lines,
    tcp: lines,
    udp: lines,
    unix: lines,
  }),
  environment: z.record(z.string(), z.string()),
  descriptors: z.array(z.strictObject({ fd: z.int(), target: z.string(), terminal: z.boolean() })),
  /** What the whole mount tree but /proc holds that is no plain file, directory or link. */
  tree: z.strictObject({
    sockets: z.array(z.string()),
    devices: z.array(z.string()),
    pipes: z.array(z.string()),
    privileged: z.array(z.string()),
    entries: z.int(),
    /** Whether every entry was looked at. False beyond 50,000 of them, or when one could not be read. */
    complete: z.boolean(),
  }),
  root: lines,
  dev: z.array(z.string()),
  proc: z.array(z.string()),
  processes: z.array(z.int()),
  sys: lines,
  hostname: z.string(),
  domainname: z.string().nullable(),
  scratch: z.strictObject({ bytes: z.number(), inodes: z.number(), freeInodes: z.number() }).nullable(),
  /** What it tried, and `ok` or the error code that came of it. */
  attempts: z.record(z.string(), z.string()),
});
export type ProbeDocument = z.infer<typeof probeDocumentSchema>;
