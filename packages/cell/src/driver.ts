import type { Duplex, Readable, Writable } from 'node:stream';
import type { AcceptableRisk, CellClass, CellId, CellPlan, ErrorData, InstanceId } from '@glovebox/contract';

/**
 * The port between the product and what makes cells. Its arguments and results are JSON and byte streams, so that a
 * driver can live in a process of its own.
 */
export interface CellDriver {
  /** `oci` or `docker`; stands in receipts. */
  readonly name: string;

  /**
   * What this host offers, found by looking and by booting a probe cell of `image` in `cellClass` (`ns` where it is left
   * out), never assumed. Never throws for a lacking host: the lack is in the report.
   */
  inspect(image?: string, cellClass?: CellClass): Promise<HostReport>;

  /**
   * Boot a cell and return as soon as its process tree is started; the channel tells when the harness is up.
   *
   * The driver checks the plan against its own ceilings, owns the plan's lifetime and kills at its end.
   *
   * @throws GloveboxError `HOST_UNSUPPORTED`, `CLASS_UNAVAILABLE`, `ENGINE_UNREACHABLE`, `ENGINE_REFUSED`, `RUNTIME_MISSING`, `RUNTIME_BROKEN`, `USERNS_UNAVAILABLE`,
   *   `CGROUP_UNAVAILABLE`, `PRIVILEGE_MISSING`, `UID_RANGE_EXHAUSTED`, `IMAGE_MISSING`, `DISK_FULL`. Nothing is left behind then.
   *   `CELL_LOST` where that could not be confirmed: the cell may run.
   */
  boot(plan: CellPlan, id: CellId): Promise<Cell>;

  /**
   * Remove what dead owners left: processes, cgroups, directories, uid claims. What belongs to a live owner, or to one
   * that cannot be judged, is left alone and counted as `unknown`.
   */
  sweep(): Promise<SweepReport>;

  /** What this driver's cells hold on the host now, of all owners of this instance. All zero where no cell is. */
  gauges(): Promise<CellGauges>;
}

/** Counts of things on the host. `mounts` and `namespaces`: those of processes of cells, which no other process has. */
export interface CellGauges {
  cells: number;
  processes: number;
  cgroups: number;
  mounts: number;
  namespaces: number;
  directories: number;
  uidClaims: number;
}

export interface Cell {
  readonly id: CellId;
  readonly facts: CellFacts;
  /** The channel's bytes, both ways. Ends when the cell dies. Errors on it are expected and mean the same. */
  readonly channel: Duplex;
  /** What the cell wrote to fds 1 and 2. The reader may stop reading: the cell then blocks, the host does not grow. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** fd 0: a pipe in a bundle cell; elsewhere /dev/null, and null here. */
  readonly stdin: Writable | null;
  /** From now on the cell gets `cpu` cores, and dies `deadlineMs` from now with cause `deadline`. Callable once. */
  dispatch(limits: { cpu: number; deadlineMs: number }): Promise<void>;
  /** SIGKILL to all of it, by identity. Idempotent. Resolves when the kill is sent, not when the cell is dead. */
  kill(cause: 'done' | 'cancelled' | 'violation'): void;
  /**
   * Settles when every process is confirmed dead and every trace on the host removed, or with `error` once the driver gives
   * that up: then the cell may still run. Never rejects.
   */
  readonly ended: Promise<CellEnd>;
}

export interface CellFacts {
  driver: string;
  runtime: string;
  runtimeVersion: string;
  /** sha256 of the plan's canonical JSON. */
  planHash: string;
  /** Names of the properties in force, sorted, such as `user-namespace`, `seccomp`, `cgroup-memory`. */
  properties: string[];
  /** What the administrator accepted to go without and this cell goes without, sorted. */
  acceptedRisks: AcceptableRisk[];
}

export interface CellEnd {
  /** What ended it. `self`: its process ended by itself. `oom`: the kernel killed it for memory. */
  cause: 'done' | 'cancelled' | 'violation' | 'deadline' | 'lifetime' | 'oom' | 'self' | 'boot-failed';
  exit: { code: number | null; signal: string | null };
  /** Whether the cell ran into its pids limit at least once. */
  pidsLimitHit: boolean;
  peakMemoryBytes: number | null;
  peakPids: number | null;
  /** From the kill, or the death, to everything being gone. */
  teardownMs: number;
  /** Why it did not come up, or what could not be removed. */
  error?: ErrorData;
}

export interface HostReport {
  driver: string;
  class: CellClass;
  usable: boolean;
  facts: HostFact[];
}

export interface HostFact {
  /** Name of the property, as in CellFacts.properties, or of a part of the host such as `runtime`. */
  name: string;
  state: 'in-force' | 'missing' | 'degraded' | 'unknown';
  detail: string;
  /** How to get it; there when it is missing. */
  hint?: string;
  /** Whether cells are refused without it. */
  required: boolean;
  /** The risk that an administrator may accept to go without it; `required` is false once that is done. */
  risk?: AcceptableRisk;
}

export interface SweepReport {
  /** `cells`: those of which nothing is left. */
  removed: { cells: number; cgroups: number; directories: number; uidClaims: number; processes: number };
  /** Left alone because their owner lives or cannot be judged, or left over because something of them could not be removed. */
  unknown: number;
}

/** Who owns what a driver makes: enough to tell later, without doubt, whether the owner still lives. */
export interface OwnerIdentity {
  instance: InstanceId;
  bootId: string;
  pid: number;
  /** Field 22 of /proc/pid/stat: clock ticks since boot. */
  startTicks: string;
}
