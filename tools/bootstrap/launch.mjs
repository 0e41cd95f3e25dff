// @ts-check
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const forwarded = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']);

/**
 * Run a program to its end, in its place as far as signals and exit status go.
 *
 * A terminal sends its signals to the whole foreground group, so the program has had those already; they are swallowed
 * here and not sent again, or one Ctrl-C would count as two.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {{ env: Record<string, string>, cwd: string, stdio: import('node:child_process').StdioOptions }} options
 * @returns {Promise<number>} its exit status; 128 + n where signal n killed it
 */
export function launch(file, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, options);
    const fromTerminal = process.stdin.isTTY === true;
    /** @type {[NodeJS.Signals, () => void][]} */
    const handlers = forwarded.map((signal) => [
      signal,
      () => {
        if (!(fromTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT'))) child.kill(signal);
      },
    ]);
    for (const [signal, handler] of handlers) process.on(signal, handler);
    const stop = () => {
      for (const [signal, handler] of handlers) process.off(signal, handler);
    };
    child.once('error', (error) => {
      stop();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      stop();
      resolve(code ?? 128 + (signal === null ? 0 : (constants.signals[signal] ?? 0)));
    });
  });
}
