import { errorCatalogue, GloveboxError, toErrorData } from '@glovebox/contract';
import { globalOptions, type OptionSpec, parseCommandArgs, usage } from './args.ts';
import { type Command, commands } from './commands.ts';
import { Output, paint } from './output.ts';

const argv = process.argv.slice(2);
process.exitCode = await main(argv);

/** @returns the exit status; see docs/errors.md. */
async function main(args: string[]): Promise<number> {
  const abort = new AbortController();
  let interrupts = 0;
  const interrupt = (): void => {
    interrupts++;
    abort.abort('interrupted');
    // A second Ctrl-C does not wait: every cell of ours dies with this process.
    if (interrupts > 1) process.exit(130);
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
  });
  let output = new Output(
    args.some((arg) => arg === '--json' || arg === '--json=document')
      ? 'document'
      : args.includes('--json=lines')
        ? 'lines'
        : 'no',
    false,
  );
  try {
    const found = findCommand(args);
    if ('help' in found) {
      process.stdout.write(found.help);
      return 0;
    }
    const { command, rest } = found;
    const parsed = parseCommandArgs(command.name, rest, command.options);
    output = new Output(parsed.global.json, parsed.global.quiet);
    if (parsed.global.help) {
      process.stdout.write(commandHelp(command));
      return 0;
    }
    const count = parsed.positionals.length;
    if (count < command.positionals.min) throw usage(command.name, `glovebox ${command.name} needs ${command.usage}`);
    if (count > command.positionals.max)
      throw usage(command.name, `${parsed.positionals[command.positionals.max]} is one argument too many`);
    const { run } = await command.load();
    return await run({ args: parsed, output, signal: abort.signal });
  } catch (error) {
    const data = toErrorData(storageError(error));
    output.error(data);
    if (data.code === 'INTERNAL' && error instanceof Error && output.json === 'no')
      process.stderr.write(`${error.stack ?? ''}\n`);
    return errorCatalogue[data.code].exit;
  }
}

/** What a full or closed disk says through any library is told by its own code. */
function storageError(error: unknown): unknown {
  if (error instanceof GloveboxError) return error;
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new GloveboxError('DISK_FULL', { cause: error, ...(path ? { place: { file: path } } : {}) });
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
    return new GloveboxError('DATA_DIR_UNUSABLE', {
      message: (error as Error).message,
      cause: error,
      ...(path ? { place: { file: path } } : {}),
    });
  }
  return error;
}

function findCommand(args: string[]): { command: Command; rest: string[] } | { help: string } {
  const words = args.filter((arg) => !arg.startsWith('-'));
  if (
    args.length === 0 ||
    (words.length === 0 && args.some((arg) => arg === '--help' || arg === '-h')) ||
    (words[0] === 'help' && words.length === 1)
  ) {
    return { help: overview() };
  }
  const asked = words[0] === 'help' ? words.slice(1) : words;
  const command = commands.find(({ name }) => name.split(' ').every((word, i) => asked[i] === word));
  if (!command) {
    const group = commands.filter(({ name }) => name.startsWith(`${asked[0]} `));
    if (group.length > 0 && (asked.length === 1 || words[0] === 'help'))
      return { help: groupHelp(asked[0] as string, group) };
    throw usage('', `${asked.slice(0, 2).join(' ') || args[0]} is not a command${suggestion(asked)}`);
  }
  if (words[0] === 'help') return { help: commandHelp(command) };
  const rest = [...args];
  for (const word of command.name.split(' ')) rest.splice(rest.indexOf(word), 1);
  return { command, rest };
}

function suggestion(asked: string[]): string {
  const text = asked.slice(0, 2).join(' ');
  const near = commands.filter(
    ({ name }) =>
      name.split(' ').some((word) => asked.includes(word)) || name.replace(' ', '') === text.replace(/[ -]/g, ''),
  );
  return near.length === 0 ? '' : `; did you mean ${near.map(({ name }) => name).join(', ')}`;
}

function overview(): string {
  const width = Math.max(...commands.map(({ name, usage: args }) => `${name} ${args}`.length));
  const lines = commands.map(({ name, usage: args, summary }) => `  ${`${name} ${args}`.padEnd(width)}  ${summary}`);
  return `${paint('bold', 'glovebox')}: write automation nodes in TypeScript and run each attempt sealed.

Usage: glovebox <command> [options]

${lines.join('\n')}

Options of every command:
${optionLines(globalOptions)}
      --version              Show the version
`;
}

function groupHelp(group: string, members: Command[]): string {
  return `Usage: glovebox ${group} <command>\n\n${members.map(({ name, usage: args, summary }) => `  ${`${name} ${args}`.padEnd(24)}  ${summary}`).join('\n')}\n`;
}

function commandHelp({ name, usage: args, summary, help, options }: Command): string {
  const own = optionLines(options);
  return `Usage: glovebox ${name}${args === '' ? '' : ` ${args}`} [options]

${summary}.
${help === undefined ? '' : `\n${help}\n`}
Options:
${own === '' ? '' : `${own}\n`}${optionLines(globalOptions)}
`;
}

function optionLines(options: Readonly<Record<string, OptionSpec>>): string {
  return Object.entries(options)
    .map(([name, { short, value, help }]) => {
      const left = `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
      return `  ${left.padEnd(28)} ${help}`;
    })
    .join('\n');
}
