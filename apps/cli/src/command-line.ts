import { globalOptions, usage } from './args.ts';
import { type Command, commands } from './commands.ts';

/** What a command line asks for, before the options of its command are read. */
export type Asked =
  | { kind: 'command'; command: Command; rest: string[] }
  | { kind: 'help'; of: Command | undefined; group: string | undefined }
  | { kind: 'version'; rest: string[] };

const shorts = new Map(Object.entries(globalOptions).map(([name, { short }]) => [short, name]));

/**
 * Find the command. Options of every command may stand before it and between its words; what they take is not mistaken for
 * a word.
 *
 * @throws GloveboxError `USAGE` with the nearest command, where one is near.
 */
export async function findCommand(args: readonly string[]): Promise<Asked> {
  const rest: string[] = [];
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--version' || arg === '-V') return { kind: 'version', rest: [...rest, ...args.slice(at + 1)] };
    if (arg.startsWith('-') && arg !== '-') {
      const taken = readGlobalOption(arg);
      rest.push(...args.slice(at, at + taken));
      at += taken - 1;
      continue;
    }
    if (arg === 'help' && words.length === 0)
      return helpFor(args.slice(at + 1).filter((word) => !word.startsWith('-')));
    words.push(arg);
    const name = words.join(' ');
    const command = commands.find((known) => known.name === name);
    if (command !== undefined) return { kind: 'command', command, rest: [...rest, ...args.slice(at + 1)] };
    if (!commands.some((known) => known.name.startsWith(`${name} `))) throw await unknownCommand(words);
  }
  return { kind: 'help', of: undefined, group: words[0] };
}

/** @returns how many arguments it takes, itself included. */
function readGlobalOption(arg: string): number {
  const [name] = arg.startsWith('--') ? arg.slice(2).split('=', 1) : [shorts.get(arg.slice(1, 2))];
  const spec = name === undefined ? undefined : globalOptions[name];
  if (spec === undefined) throw usage('', `${arg} before a command is not an option of every command`);
  return spec.type === 'string' && !arg.includes('=') ? 2 : 1;
}

async function helpFor(words: readonly string[]): Promise<Asked> {
  if (words.length === 0) return { kind: 'help', of: undefined, group: undefined };
  const name = words.slice(0, 2).join(' ');
  const of = commands.find((known) => known.name === name || known.name === words[0]);
  if (of !== undefined) return { kind: 'help', of, group: undefined };
  if (words.length === 1 && commands.some((known) => known.name.startsWith(`${name} `)))
    return { kind: 'help', of: undefined, group: name };
  throw await unknownCommand(words);
}

async function unknownCommand(words: readonly string[]): Promise<Error> {
  const { nearest } = await import('@glovebox/validate');
  const [first = '', second] = words;
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  const said = group.length > 0 && second !== undefined ? `${first} ${second}` : first;
  return usage(group.length > 0 ? first : '', `${said} is not a command${suggest()}`);

  function suggest(): string {
    if (group.length > 0 && second !== undefined) {
      const near = nearest(
        second,
        group.map(({ name }) => name.slice(first.length + 1)),
      );
      return near === undefined
        ? `; there is ${group.map(({ name }) => name).join(', ')}`
        : `; did you mean ${first} ${near}`;
    }
    // `glovebox new`, `glovebox list`: the second word of something.
    const seconds = commands.filter(({ name }) => name.split(' ')[1] === first).map(({ name }) => name);
    if (seconds.length > 0) return `; did you mean ${seconds.join(', ')}`;
    const near = nearest(first, [...new Set(commands.map(({ name }) => name.split(' ')[0] as string)), 'help']);
    return near === undefined ? '' : `; did you mean ${near}`;
  }
}
