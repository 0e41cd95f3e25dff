import { type ChildProcess, spawn, spawnSync } from 'node:child_process';

/** Whether the program that gives a process a terminal of its own is there (util-linux has it). */
export const hasTerminals = spawnSync('script', ['--version']).status === 0;

export interface OnTerminal {
  child: ChildProcess;
  /** Everything that the terminal has shown. */
  shown(): string;
  /** Resolves when the pattern has been shown; rejects when the program ends without. */
  seen(pattern: RegExp): Promise<void>;
  /** As if typed. */
  type(keys: string): void;
  /** The exit status. */
  ended: Promise<number | null>;
}

/** Run a program on a pseudo-terminal, as its foreground. */
export function onTerminal(argv: readonly string[], options: { env: Record<string, string>; cwd: string }): OnTerminal {
  const quoted = argv.map((arg) => `'${arg.replaceAll("'", "'\\''")}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', `exec ${quoted}`, '/dev/null'], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm', SHELL: '/bin/sh', ...options.env },
    cwd: options.cwd,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (const watch of watchers) watch();
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return {
    child,
    shown: () => text,
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        const watch = (): void => {
          if (!pattern.test(text)) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
        watch();
        ended.then(() => reject(new Error(`it ended without ${pattern}:\n${text}`)), reject);
      }),
    type: (keys) => child.stdin.write(keys),
    ended,
  };
}

/**
 * What stands on a terminal after this text, line by line, without colours and blanks at line ends: as far as our own
 * drawing goes, which moves up and to the beginning of a line, and erases lines and all below.
 */
export function pictureOf(text: string): string[] {
  const lines: string[] = [''];
  let [row, column] = [0, 0];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
  for (const [token] of text.matchAll(/\u001b\[[0-9;]*[A-Za-z]|\r|\n|[^\u001b\r\n]+/g)) {
    if (token === '\r') column = 0;
    else if (token === '\n') lines[++row] ??= '';
    else if (!token.startsWith('\u001b')) {
      const line = (lines[row] as string).padEnd(column);
      lines[row] = line.slice(0, column) + token + line.slice(column + token.length);
      column += token.length;
    } else if (token.endsWith('A')) row = Math.max(0, row - Number(token.slice(2, -1) || 1));
    else if (token === '\u001b[J') {
      lines.length = row + 1;
      lines[row] = (lines[row] as string).slice(0, column);
    } else if (token === '\u001b[2K') lines[row] = '';
    else if (!token.endsWith('m')) throw new Error(`a terminal would obey ${JSON.stringify(token)}`);
  }
  return lines.map((line) => line.trimEnd());
}
