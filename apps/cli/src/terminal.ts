import { createInterface } from 'node:readline';
import { isatty } from 'node:tty';

/**
 * Whether a person is at a terminal: one to read what is asked, and one to answer. A pipe in place of either is a program, which
 * confirms nothing.
 */
export const isAttended = (): boolean => isatty(0) && isatty(2);

/**
 * Ask the person at the terminal; only the word `yes` is a yes, and the end of the input is none. Ctrl-C ends the process as it
 * does elsewhere. Only where somebody is attending.
 */
export async function confirm(question: string): Promise<boolean> {
  process.stderr.write(`${question} Type yes to confirm: `);
  // Not as a terminal: its raw mode would take Ctrl-C away from the process.
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const line of lines) return line.trim() === 'yes';
    return false;
  } finally {
    lines.close();
    process.stdin.unref?.();
  }
}
