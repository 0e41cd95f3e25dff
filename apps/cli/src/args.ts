import { parseArgs } from 'node:util';
import { GloveboxError } from '@glovebox/contract';

export interface OptionSpec {
  type: 'string' | 'boolean';
  short?: string;
  /** Shown in help as the value's name. */
  value?: string;
  help: string;
  multiple?: boolean;
}

export type JsonMode = 'no' | 'document' | 'lines';

export interface GlobalOptions {
  json: JsonMode;
  dataDir: string | undefined;
  help: boolean;
  quiet: boolean;
}

export interface ParsedArgs {
  positionals: string[];
  options: Readonly<Record<string, string | boolean | string[] | undefined>>;
  global: GlobalOptions;
}

export const globalOptions: Readonly<Record<string, OptionSpec>> = {
  json: { type: 'boolean', help: 'Print one JSON document; --json=lines prints live events, one a line' },
  'data-dir': {
    type: 'string',
    value: 'DIR',
    help: 'Data directory (GLOVEBOX_DATA_DIR, else $XDG_DATA_HOME/glovebox)',
  },
  quiet: { type: 'boolean', short: 'q', help: 'No progress on stderr' },
  help: { type: 'boolean', short: 'h', help: 'Show help' },
};

/**
 * Parse what follows a command's name.
 * @throws GloveboxError `USAGE` naming the argument, and the option that was probably meant.
 */
export async function parseCommandArgs(
  command: string,
  args: readonly string[],
  specs: Readonly<Record<string, OptionSpec>>,
): Promise<ParsedArgs> {
  let json: JsonMode = 'no';
  const rest: string[] = [];
  let literal = false;
  for (const arg of args) {
    if (!literal && arg.startsWith('--json=')) json = jsonMode(command, arg.slice('--json='.length));
    else if (!literal && arg === '--json') json = 'document';
    else rest.push(arg);
    if (arg === '--') literal = true;
  }
  const options = Object.fromEntries(
    Object.entries({ ...specs, ...globalOptions }).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }), ...(multiple === undefined ? {} : { multiple }) },
    ]),
  );
  const { values, positionals, tokens } = parseArgs({
    args: rest,
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) if (token.kind === 'option') await checkOption(command, token, options);
  return {
    positionals,
    options: values as ParsedArgs['options'],
    global: {
      json,
      dataDir: values['data-dir'] as string | undefined,
      help: values.help === true,
      quiet: values.quiet === true,
    },
  };
}

interface OptionToken {
  name: string;
  rawName: string;
  value: string | undefined;
  inlineValue: boolean | undefined;
}

async function checkOption(
  command: string,
  { name, rawName, value, inlineValue }: OptionToken,
  options: Readonly<Record<string, { type: OptionSpec['type'] }>>,
): Promise<void> {
  const spec = Object.hasOwn(options, name) ? options[name] : undefined;
  if (spec === undefined) {
    const { nearest } = await import('@glovebox/validate');
    const near = rawName.startsWith('--') ? nearest(name, Object.keys(options)) : undefined;
    const meant = near === undefined ? '' : `; did you mean --${near}`;
    throw usage(command, `${rawName} is not an option of glovebox ${command}${meant}`);
  }
  if (spec.type === 'boolean') {
    if (value !== undefined) throw usage(command, `${rawName} takes no value`);
  } else if (value === undefined) throw usage(command, `${rawName} needs a value`);
  else if (value.startsWith('-') && value !== '-' && inlineValue !== true)
    throw usage(command, `The value of ${rawName} begins with a hyphen; write --${name}=VALUE`);
}

function jsonMode(command: string, text: string): JsonMode {
  if (text === 'lines') return 'lines';
  if (text === 'document' || text === '') return 'document';
  throw usage(command, `--json=${text} is not known; use --json or --json=lines`);
}

export function usage(command: string, message: string): GloveboxError {
  return new GloveboxError('USAGE', {
    message: `${message}.`,
    hint: `Run glovebox ${command} --help.`.replace('  ', ' '),
  });
}
