import { readdirSync, readlinkSync } from 'node:fs';

const kinds = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'] as const;

/**
 * Look at the namespaces of all processes that can be seen now. Called afterwards, the result gives those that the same
 * processes still hold, by kind, as /proc names them: none can be that of a cell that was booted in between. The kernel gives
 * the name of a namespace that is gone to the next one, so what ended meanwhile tells nothing.
 *
 * Our own are always among them. Without root those of foreign processes are not.
 */
export function watchHostNamespaces(): () => Record<string, string[]> {
  const before = readHolders();
  return () => {
    const after = readHolders();
    return Object.fromEntries(
      kinds.map((kind) => {
        const lasting = [...before].flatMap(([pid, held]) => {
          const name = held[kind];
          return name !== undefined && after.get(pid)?.[kind] === name ? [name] : [];
        });
        return [kind, [...new Set(lasting)].sort()];
      }),
    );
  };
}

function readHolders(): Map<string, Record<string, string>> {
  const pids = ['self', ...readdirSync('/proc').filter((name) => /^\d+$/.test(name))];
  return new Map(pids.map((pid) => [pid, Object.fromEntries(kinds.flatMap((kind) => readLink(pid, kind)))] as const));
}

function readLink(pid: string, kind: string): [string, string][] {
  try {
    return [[kind, readlinkSync(`/proc/${pid}/ns/${kind}`)]];
  } catch (thrown) {
    if (pid === 'self') throw thrown;
    // Ended meanwhile, or another user's.
    return [];
  }
}
