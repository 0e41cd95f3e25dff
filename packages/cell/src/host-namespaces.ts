import { readdirSync, readlinkSync } from 'node:fs';

const kinds = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'] as const;

/** What can be said of the namespaces of a host, other than those of a cell that was booted while we watched. */
export interface HostNamespaces {
  /** Those that others had before the cell and have still, by kind, as /proc names them. */
  held: Readonly<Record<string, readonly string[]>>;
  /** Why there may be more than could be seen; undefined where all were seen. */
  unseen?: string;
}

/** A look at the host that goes on while a cell is booted and lives. */
export interface NamespaceWatch {
  /** Look once more, for namespaces of processes that come and go. */
  look(): void;
  /** @param cellPid the pid namespace of the cell, as its probe told it. A host on which no process was seen in it is not the one that we see. */
  end(cellPid?: string | null): HostNamespaces;
}

/**
 * Numbers that the kernel gives to the first namespaces of a machine, since 3.8 (include/linux/proc_ns.h). Those of network
 * and mounts have none in most kernels. They are of the host, whoever can be seen to hold them.
 */
const initial: Readonly<Record<string, string>> = {
  cgroup: 'cgroup:[4026531835]',
  ipc: 'ipc:[4026531839]',
  pid: 'pid:[4026531836]',
  user: 'user:[4026531837]',
  uts: 'uts:[4026531838]',
};

/**
 * Look at the namespaces of all processes that can be seen now. At the end, the result gives those that the same processes
 * still hold, by kind: none can be that of a cell that was booted in between. The kernel gives the name of a namespace that
 * is gone to the next one, so what ended meanwhile tells nothing.
 *
 * Our own are always among them, and those that a machine starts with. What else there is may be hidden: without root,
 * in a pid namespace of our own, or where an engine is on another machine. Then `unseen` says so.
 */
export function watchHostNamespaces(): NamespaceWatch {
  const before = readHolders();
  const pids = new Set<string>();
  const look = (): void => {
    for (const pid of processes()) {
      const name = readLink(pid, 'pid');
      if (name !== undefined && name !== 'hidden') pids.add(name);
    }
  };
  return {
    look,
    end(cellPid) {
      const after = readHolders();
      const held = kinds.map((kind) => {
        const lasting = [...before.holders].flatMap(([pid, links]) => {
          const name = links[kind];
          return name !== undefined && after.holders.get(pid)?.[kind] === name ? [name] : [];
        });
        return [
          kind,
          [...new Set([...lasting, ...(initial[kind] === undefined ? [] : [initial[kind]])])].sort(),
        ] as const;
      });
      const hidden = Math.max(before.hidden, after.hidden);
      const reasons = [
        ...(hidden > 0 ? [`namespaces may not be read of processes: ${hidden}`] : []),
        ...(typeof cellPid === 'string' && !pids.has(cellPid) ? ['no process of the cell was seen from here'] : []),
      ];
      return { held: Object.fromEntries(held), ...(reasons.length === 0 ? {} : { unseen: reasons.join('; ') }) };
    },
  };
}

const processes = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name));

function readHolders(): { holders: Map<string, Record<string, string>>; hidden: number } {
  const holders = new Map<string, Record<string, string>>();
  let hidden = 0;
  for (const pid of ['self', ...processes()]) {
    const links = kinds.map((kind) => [kind, readLink(pid, kind)] as const);
    if (links.some(([, name]) => name === 'hidden')) hidden++;
    holders.set(
      pid,
      Object.fromEntries(
        links.flatMap(([kind, name]) => (name === undefined || name === 'hidden' ? [] : [[kind, name]])),
      ),
    );
  }
  return { holders, hidden };
}

/** Undefined when the process has ended meanwhile; `hidden` when it may be there and cannot be looked at. */
function readLink(pid: string, kind: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch (thrown) {
    if (pid === 'self') throw thrown;
    const { code } = thrown as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH' ? undefined : 'hidden';
  }
}
