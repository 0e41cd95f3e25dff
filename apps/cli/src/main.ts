import { readFileSync } from 'node:fs';
import { errorCatalogue, toErrorData } from '@glovebox/contract';
import { type JsonMode, parseCommandArgs, usage } from './args.ts';
import { findCommand } from './command-line.ts';
import { commandHelp, groupHelp, overview } from './help.ts';
import { exitInterrupted, type Interrupts, listenForInterrupts } from './interrupts.ts';
import { Output, printable } from './output.ts';

process.exitCode = await main(process.argv.slice(2), listenForInterrupts());
// What is still under way then is what was interrupted.
if (process.exitCode === exitInterrupted) process.exit();

/** @returns the exit status; see docs/errors.md. */
async function main(args: string[], interrupts: Interrupts): Promise<number> {
  const output = new Output(jsonModeOf(args), args.includes('--quiet') || args.includes('-q'));
  try {
    const asked = await findCommand(args);
    if (asked.kind === 'version') return showVersion(output);
    if (asked.kind === 'help') {
      const { of, group } = asked;
      output.text(of !== undefined ? commandHelp(of) : group !== undefined ? groupHelp(group) : overview());
      return 0;
    }
    const { command, rest } = asked;
    const parsed = await parseCommandArgs(command.name, rest, command.options);
    output.json = parsed.global.json;
    output.quiet = parsed.global.quiet;
    if (parsed.global.help) {
      output.text(commandHelp(command));
      return 0;
    }
    // A variable that was not set: never the directory one stands in.
    if (parsed.positionals.includes('')) throw usage(command.name, 'An argument is an empty string');
    const count = parsed.positionals.length;
    if (count < command.positionals.min) throw usage(command.name, `glovebox ${command.name} needs ${command.usage}`);
    if (count > command.positionals.max)
      throw usage(command.name, `${parsed.positionals[command.positionals.max]} is one argument too many`);
    output.onClosed(() => interrupts.abort('the reader of the output is gone'));
    const { run } = await command.load();
    return await run({ args: parsed, output, windUp: interrupts.windUp });
  } catch (error) {
    // Whoever read the output has seen enough.
    if ((error as NodeJS.ErrnoException | null)?.code === 'EPIPE' && output.isClosed) return 0;
    const data = toErrorData(error);
    output.error(data);
    if (data.code === 'INTERNAL' && error instanceof Error && output.json === 'no')
      output.complain(printable(error.stack ?? ''));
    return errorCatalogue[data.code].exit;
  }
}

/** For errors that come before the options have been read. */
function jsonModeOf(args: readonly string[]): JsonMode {
  if (args.includes('--json=lines')) return 'lines';
  return args.some((arg) => arg === '--json' || arg === '--json=document') ? 'document' : 'no';
}

function showVersion(output: Output): number {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  output.result({ version }, () => `glovebox ${version}`);
  return 0;
}
