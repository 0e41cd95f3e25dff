import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type ErrorCode, GloveboxError } from '@glovebox/contract';

const maxLogBytes = 16 * 1024;

/**
 * What the runtime itself reported. It writes to a file of its own, so a cell that writes the same words to its stderr
 * cannot pass for a runtime that failed.
 *
 * @returns the messages at level error, in order; empty when there is none.
 */
export function readRuntimeErrors(path: string): string[] {
  const messages: string[] = [];
  // runsc writes one entry right after the other.
  for (const line of readHead(path).replaceAll('}{', '}\n{').split('\n')) {
    try {
      const entry: unknown = JSON.parse(line);
      if (typeof entry !== 'object' || entry === null) continue;
      const { level, msg } = entry as { level?: unknown; msg?: unknown };
      if ((level === 'error' || level === 'fatal') && typeof msg === 'string') messages.push(msg.trim().slice(0, 500));
    } catch {
      // Not a line of the log format; a runtime that fails early may write some.
    }
  }
  return messages;
}

function readHead(path: string): string {
  let fd: number;
  try {
    // The runtime may be another user, who could have put anything there: nothing of it is waited for.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return '';
  }
  try {
    if (!fstatSync(fd).isFile()) return '';
    const bytes = Buffer.alloc(maxLogBytes);
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, maxLogBytes, 0));
  } finally {
    closeSync(fd);
  }
}

/** First match wins. Only for naming the cause: nothing is retried or allowed because of a message. */
const meanings: readonly { pattern: RegExp; code: ErrorCode }[] = [
  { pattern: /executable file|exec.*(no such file|not found)|open executable/i, code: 'IMAGE_CORRUPTED' },
  {
    pattern: /no space left on device.*(unshare|clone|namespace)|(unshare|clone|namespace).*no space left on device/i,
    code: 'USERNS_UNAVAILABLE',
  },
  { pattern: /no space left on device|disk quota/i, code: 'DISK_FULL' },
  { pattern: /user ?namespace|uid_map|gid_map|setgroups|newuidmap/i, code: 'USERNS_UNAVAILABLE' },
  { pattern: /cgroup/i, code: 'CGROUP_UNAVAILABLE' },
  { pattern: /seccomp|apparmor|unshare|clone|namespace|mount/i, code: 'HOST_UNSUPPORTED' },
];

/** Why the runtime did not start the cell. */
export function runtimeError(messages: readonly string[], fallback: string): GloveboxError {
  const message = messages.join('; ') || fallback;
  const code = meanings.find(({ pattern }) => pattern.test(message))?.code ?? 'RUNTIME_BROKEN';
  return new GloveboxError(code, { message: `The runtime reported: ${message}` });
}
