// @ts-check
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SetupError } from './setup-error.mjs';

/**
 * Do something while no other process does it.
 *
 * Every contender puts a claim, a file whose name says who it is, into one directory and then looks: it holds the lock
 * if no other living process has a claim there, else it takes its own back and tries again. Whichever of two made its
 * claim later sees the other's, so there are never two holders. There is no lock file to be stolen: a claim of a dead
 * process is dead for ever (boot id, pid and start time are in its name) and anyone may remove it.
 *
 * Processes that do not share a pid namespace do not see each other.
 *
 * @template T
 * @param {string} directory made when it is not there
 * @param {() => Promise<T>} action
 * @param {{ onWait: (pid: string) => void, limitMs: number }} options
 * @returns {Promise<T>}
 */
export async function whileAlone(directory, action, { onWait, limitMs }) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const mine = identityOf('self');
  if (mine === undefined) throw new SetupError('HOST_UNSUPPORTED', '/proc cannot be read.', 'Mount /proc.');
  const claim = join(directory, mine);
  const until = Date.now() + limitMs;
  let told = false;
  for (;;) {
    writeFileSync(claim, '', { flag: 'wx', mode: 0o600 });
    const rival = livingRival(directory, mine);
    if (rival === undefined) break;
    rmSync(claim, { force: true });
    if (Date.now() > until)
      throw new SetupError(
        'SETUP_BUSY',
        `Process ${rival} has been setting up for too long.`,
        'See what it is doing, then try again.',
      );
    if (!told) onWait(rival);
    told = true;
    await sleep(100 + Math.random() * 200);
  }
  try {
    return await action();
  } finally {
    rmSync(claim, { force: true });
  }
}

/**
 * @param {string} directory
 * @param {string} mine
 * @returns {string | undefined} the pid of a living process that has a claim
 */
function livingRival(directory, mine) {
  for (const name of readdirSync(directory)) {
    if (name === mine) continue;
    const pid = /^[0-9a-f-]+\.(\d+)\.\d+$/.exec(name)?.[1];
    // A name that says nothing is nobody's claim. It is left alone.
    if (pid === undefined) continue;
    if (identityOf(pid) === name) return pid;
    rmSync(join(directory, name), { force: true });
  }
  return undefined;
}

/**
 * @param {string} pid
 * @returns {string | undefined} `bootId.pid.startTicks`, or undefined when there is no such process
 */
function identityOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    // The command may hold spaces and brackets: fields count from the last closing one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // Dead, and waiting for a parent that may never ask.
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${boot}.${stat.slice(0, stat.indexOf(' '))}.${fields[19]}`;
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
