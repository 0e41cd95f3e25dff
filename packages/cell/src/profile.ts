import { cellUid } from './command.ts';

/**
 * In what the cells of an engine are known to differ from those that we make whole ourselves. A probe is judged by the
 * same table everywhere; this says by which words of it. What an engine cannot give is named in `lacks` and told by its
 * property, never passed over.
 */
export interface CellProfile {
  /** There where cells have a kernel of their own, in user space: what it tells of ids and devices is nothing of the host. */
  ownKernel?: OwnKernel;
  /**
   * `own`: two ids of a cell are mapped, each to a host id of its own. `remapped`: a range of the daemon's that all its
   * cells share; the id in it is the cell's own. `none`: ids are the host's, and the cell's own.
   */
  userNamespace: 'own' | 'remapped' | 'none';
  /** Container uid and gid of the cell. */
  uid: number;
  /**
   * Whose word it is that a namespace is new where not all of the host can be seen. `ourselves`: what is not made new is
   * inherited from us, and ours are always seen. `engine`: what it inherits from may be hidden, and only the engine says.
   */
  namespacesBy: 'ourselves' | 'engine';
  /** Whether the number of files in scratch has a bound. Without one less is claimed, and the host has a fact about it. */
  scratchInodes: 'limited' | 'unlimited';
  /** Options that the mounts on `/` and `/dev` must have. */
  rootOptions: readonly string[];
  devOptions: readonly string[];
  /** What an engine mounts unasked. Each must be an empty, read-only directory or the null device by what is mounted over it. */
  masked: readonly string[];
  /** Variables that an engine gives a cell unasked and that say nothing of the host; none where it is left out. */
  addedEnvironment?: Readonly<Record<string, string>>;
  /** Properties that this engine cannot give; they are not judged. */
  lacks: readonly string[];
}

/** How a kernel in user space differs from Linux for who looks at it from inside. */
export interface OwnKernel {
  /** Fields of /proc/self/status that it does not have, and options of mounts that it does not show. */
  untold: readonly string[];
  /** Devices, as `/dev/tty c 5:0`, and mount points that it makes unasked. They are its own. */
  devices: readonly string[];
  mountPoints: readonly string[];
  /** Attempts of the probe that may succeed, since they reach this kernel alone, and those that need not. */
  harmless: readonly string[];
  refused: readonly string[];
}

/** Cells that a driver of ours makes whole, on a runtime that does what it is told. */
export const ownProfile: CellProfile = {
  userNamespace: 'own',
  namespacesBy: 'ourselves',
  scratchInodes: 'limited',
  uid: cellUid,
  rootOptions: ['ro', 'nosuid', 'nodev'],
  devOptions: ['ro', 'nosuid', 'noexec'],
  masked: [],
  lacks: [],
};
