import { globalOptions, type OptionSpec } from './args.ts';
import { type Command, commands } from './commands.ts';
import { paint } from './output.ts';

export function overview(): string {
  const width = Math.max(...commands.map(({ name, usage }) => `${name} ${usage}`.length));
  return `${paint('bold', 'glovebox')}: write automation nodes in TypeScript and run each attempt sealed.

Usage: glovebox <command> [options]

${commands.map((command) => commandLine(command, width)).join('\n')}

Options of every command:
${optionLines(globalOptions)}
  -V, --version                Show the version
`;
}

/** @param group first word of two-word commands. */
export function groupHelp(group: string): string {
  const members = commands.filter(({ name }) => name.startsWith(`${group} `));
  const width = Math.max(...members.map(({ name, usage }) => `${name} ${usage}`.length));
  return `Usage: glovebox ${group} <command> [options]

${members.map((command) => commandLine(command, width)).join('\n')}
`;
}

export function commandHelp({ name, usage, summary, help, options }: Command): string {
  const own = optionLines(options);
  return `Usage: glovebox ${name}${usage === '' ? '' : ` ${usage}`} [options]

${summary}.
${help === undefined ? '' : `\n${help}\n`}
Options:
${own === '' ? '' : `${own}\n`}${optionLines(globalOptions)}
`;
}

const commandLine = ({ name, usage, summary }: Command, width: number): string =>
  `  ${`${name} ${usage}`.padEnd(width)}  ${summary}`;

function optionLines(options: Readonly<Record<string, OptionSpec>>): string {
  return Object.entries(options)
    .map(([name, { short, value, help }]) => {
      const left = `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
      return `  ${left.padEnd(28)} ${help}`;
    })
    .join('\n');
}
