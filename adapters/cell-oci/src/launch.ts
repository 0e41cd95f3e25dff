import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { channelFd } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';
import { findProgram, hostEnvironment } from './host-program.ts';
import { type Bind, requireMounted } from './launch-mounts.ts';

/**
 * How a cell is started so that nothing of it can outlive us.
 *
 * `setpriv` arms a death signal: the kernel kills `unshare` when the thread that forked it, ours, dies. `unshare` makes a
 * pid namespace around runtime and cell, whose first process it kills in turn when it dies itself; with the first process
 * the kernel kills the whole namespace. So SIGKILL to our own unreaped child, whose pid nobody else can have, kills a cell
 * at once and whole, and SIGKILL to us does the same, without a supervisor.
 *
 * In that namespace a shell puts the image's root where a foreign uid can reach it, says so, waits for our word, joins the
 * cgroups, says so again, and becomes the runtime. Its word comes after `setpriv` and ours after its word, so a launch
 * whose parent died before the signal was armed reads end of file instead and ends.
 */
export interface LaunchTools {
  setpriv: string;
  unshare: string;
  sh: string;
  mount: string;
}

/** @throws GloveboxError `HOST_UNSUPPORTED`. */
export function findLaunchTools(): LaunchTools {
  return {
    setpriv: findTool('setpriv'),
    unshare: findTool('unshare'),
    sh: findTool('sh'),
    mount: findTool('mount'),
  };
}

function findTool(name: string): string {
  const path = findProgram(name);
  if (path !== undefined) return path;
  throw new GloveboxError('HOST_UNSUPPORTED', {
    message: `Found no ${name}.`,
    hint: 'Install util-linux and mount.',
  });
}

/** Arguments: mount, its table, files to join, `--`, the runtime's argv. Nothing is put into the text. */
const prepare = [
  '"$1" -n -a -T "$2" || exit 81',
  'shift 2',
  `printf R >&${channelFd}`,
  `read -r go <&${channelFd} && [ "$go" = go ] || exit 82`,
  'while [ "$1" != -- ]; do echo 0 >"$1" || exit 83; shift; done',
  'shift',
].join('\n');

const becomeRuntime = [`printf J >&${channelFd}`, 'exec "$@"'].join('\n');

/**
 * The same in a user namespace, as its root, for a runtime that would otherwise run as root of the host. Before the
 * runtime's argv stand nsenter, unshare, sh, the host ids of root and of the one user that the namespace has besides,
 * that user's number in it, what the kernel is to prefer it by when memory is short, and seconds of processor time.
 *
 * Its ids can be mapped from outside alone, and a process whose ids are not mapped yet loses its rights when it executes
 * anything. So a process that stops itself holds the namespace until it is mapped and entered.
 */
const becomeRuntimeInNamespace = [
  'nsenter=$1 unshare=$2 sh=$3 root=$4 user=$5 inner=$6',
  'echo "$7" >/proc/self/oom_score_adj || exit 84',
  'ulimit -c 0 && ulimit -t "$8" || exit 84',
  'shift 8',
  `"$unshare" --user "$sh" -c 'kill -STOP $$' &`,
  'while [ /proc/$!/ns/user -ef /proc/$$/ns/user ]; do :; done',
  `printf '0 %s 1\n%s %s 1\n' "$root" "$inner" "$user" >/proc/$!/uid_map || exit 84`,
  `printf '0 %s 1\n%s %s 1\n' "$root" "$inner" "$user" >/proc/$!/gid_map || exit 84`,
  'exec 4</proc/$!/ns/user || exit 84',
  '{ kill -KILL $!; wait $!; } 2>/dev/null',
  `printf J >&${channelFd}`,
  `exec "$nsenter" --user=/proc/self/fd/4 --setuid 0 --setgid 0 "$sh" -c 'exec "$@" ${channelFd}<&- 4<&-' glovebox-cell "$@"`,
].join('\n');

const ready = 'R';
const joined = 'J';

export interface LaunchRequest {
  tools: LaunchTools;
  /** File with what the launcher mounts, as `mountTable` writes `binds`. */
  mountTable: string;
  binds: readonly Bind[];
  joinFiles: readonly string[];
  runtimeArgv: readonly string[];
  stdin: 'null' | 'pipe';
  /** Where the runtime is to have a user namespace of its own. It then gets nothing but the standard streams. */
  userNamespace?: UserNamespace;
}

/** Host ids of root in it and of the one other user, whose number there is `innerId`. */
export interface UserNamespace {
  rootId: number;
  userId: number;
  innerId: number;
  oomScoreAdj: number;
  /** For each of its processes; the backstop for a driver that can no longer kill. */
  cpuSeconds: number;
}

export interface Launched {
  child: ChildProcess;
  binds: readonly Bind[];
  channel: Duplex;
  stdout: Readable;
  stderr: Readable;
  stdin: Writable | null;
}

/** Start the chain. It gets no further than its first word until `release`. */
export function launch(request: LaunchRequest): Launched {
  const { tools } = request;
  const argv = [
    ...['--pdeathsig', 'KILL'],
    ...[tools.unshare, '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child=KILL', '--mount-proc'],
    ...[tools.sh, '-c', scriptOf(request), 'glovebox-cell', tools.mount, request.mountTable],
    ...[...request.joinFiles, '--', ...namespaceArguments(request), ...request.runtimeArgv],
  ];
  const [program = '', ...args] = [...plainScheduling(), tools.setpriv, ...argv];
  const child = spawn(program, args, {
    stdio: [request.stdin === 'pipe' ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...hostEnvironment },
    cwd: '/',
    // A session of its own: a key that interrupts us at a terminal is ours to answer, and would end cells as if by themselves.
    detached: true,
  });
  // An event without a listener would end this process.
  child.on('error', () => {});
  // Where no descriptor is free for them Node.js makes no streams at all.
  if (child.stdio === undefined) {
    throw new GloveboxError('HOST_UNSUPPORTED', {
      message: 'Cannot start the launcher: no file descriptor is free.',
      hint: 'Raise the limit of open files.',
    });
  }
  const channel = child.stdio[channelFd] as Duplex;
  for (const stream of child.stdio) stream?.on('error', () => {});
  const { stdin } = child;
  const [stdout, stderr] = [child.stdout as Readable, child.stderr as Readable];
  return { child, binds: request.binds, channel, stdout, stderr, stdin };
}

const scriptOf = ({ userNamespace }: LaunchRequest): string =>
  `${prepare}\n${userNamespace === undefined ? becomeRuntime : becomeRuntimeInNamespace}`;

function namespaceArguments({ tools, userNamespace }: LaunchRequest): string[] {
  if (userNamespace === undefined) return [];
  const { rootId, userId, innerId, oomScoreAdj, cpuSeconds } = userNamespace;
  return [
    findTool('nsenter'),
    tools.unshare,
    tools.sh,
    ...[rootId, userId, innerId, oomScoreAdj, cpuSeconds].map(String),
  ];
}

/** Real-time policies by their numbers in /proc: SCHED_FIFO, SCHED_RR, SCHED_DEADLINE. */
const realTimePolicies = new Set(['1', '2', '6']);

/**
 * Words that go before the chain where this thread runs ahead of others. A cell would inherit that: a share of processor
 * time does not hold a real-time process, and a cell must not be served before its host.
 *
 * @throws GloveboxError `HOST_UNSUPPORTED`.
 */
function plainScheduling(): string[] {
  const stat = readFileSync('/proc/thread-self/stat', 'latin1');
  // Fields are counted after the name, which may hold blanks.
  const policy = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38] ?? '';
  const ahead = -getPriority();
  return [
    ...(realTimePolicies.has(policy) ? [findTool('chrt'), '--other', '0'] : []),
    ...(ahead > 0 ? [findTool('nice'), '-n', String(ahead)] : []),
  ];
}

/**
 * Wait for the chain to be armed, run `prepare` (which may have run meanwhile), let it join and become the runtime, where
 * all is mounted that it is to find.
 *
 * @throws GloveboxError `RUNTIME_BROKEN` past the deadline, `HOST_UNSUPPORTED` where something is not mounted, else what
 *   the stage at which it ended means.
 */
export async function release(launched: Launched, deadlineMs: number): Promise<void> {
  const { channel } = launched;
  // Not the clock of the day, which can be set back.
  const expires = performance.now() + deadlineMs;
  await expectByte(launched, ready, expires);
  // It has the launcher's mount namespace from before it forks the shell.
  requireMounted(launched.child.pid, launched.binds);
  channel.write('go\n');
  await expectByte(launched, joined, expires);
}

function expectByte(launched: Launched, byte: string, expires: number): Promise<void> {
  const { child, channel } = launched;
  return new Promise((resolve, reject) => {
    const finish = (problem?: unknown): void => {
      clearTimeout(timer);
      channel.off('readable', onReadable);
      child.off('error', onError);
      child.off('exit', onExit);
      if (problem === undefined) resolve();
      else reject(problem);
    };
    const onReadable = (): void => {
      // Exactly one byte: what follows belongs to the cell.
      const chunk: Buffer | null = channel.read(1);
      if (chunk === null) return;
      if (chunk.toString('latin1') === byte) finish();
      else finish(new GloveboxError('RUNTIME_BROKEN', { message: 'The launcher said something unexpected.' }));
    };
    const onError = (error: Error): void =>
      finish(
        new GloveboxError('HOST_UNSUPPORTED', { message: `Cannot start the launcher: ${error.message}`, cause: error }),
      );
    const onExit = (code: number | null): void => {
      void readLastWords(launched.stderr).then((words) => finish(launcherError(code, words)));
    };
    const timer = setTimeout(
      () => finish(new GloveboxError('RUNTIME_BROKEN', { message: 'The launcher did not come up in time.' })),
      Math.max(0, expires - performance.now()),
    );
    channel.on('readable', onReadable);
    child.once('error', onError);
    if (child.exitCode !== null || child.signalCode !== null) onExit(child.exitCode);
    else child.once('exit', onExit);
    onReadable();
  });
}

/** What a process that has exited left in the pipe. Whoever else holds it open is not waited for. */
function readLastWords(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    let words = '';
    const finish = (): void => {
      clearTimeout(timer);
      stream.off('data', onData);
      resolve(words.trim().slice(0, 500));
    };
    const onData = (chunk: Buffer): void => {
      words += chunk.toString();
    };
    const timer = setTimeout(finish, 200);
    stream.on('data', onData);
    stream.once('end', finish);
    if (stream.readableEnded) finish();
  });
}

/** What it means that the chain ended at a stage, by the shell's exit code and the words of what it ran. */
export function launcherError(code: number | null, words: string): GloveboxError {
  const message = (what: string): string => (words === '' ? what : `${what}: ${words}`);
  if (code === 83) return new GloveboxError('CGROUP_UNAVAILABLE', { message: message('Cannot join a cgroup') });
  if (code === 84) return new GloveboxError('USERNS_UNAVAILABLE', { message: message('Cannot make a user namespace') });
  if (/Operation not permitted|Permission denied/.test(words)) {
    return new GloveboxError('PRIVILEGE_MISSING', { message: message('Cannot make namespaces') });
  }
  if (/No space left on device/.test(words)) {
    return new GloveboxError('HOST_UNSUPPORTED', {
      message: message('No more namespaces can be made'),
      hint: 'Raise user.max_mnt_namespaces and user.max_pid_namespaces.',
    });
  }
  const stage = code === 81 ? 'Cannot mount the root of the image' : `The launcher ended (${code ?? 'by a signal'})`;
  return new GloveboxError('HOST_UNSUPPORTED', { message: message(stage) });
}
