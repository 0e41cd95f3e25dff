import type { OptionSpec, ParsedArgs } from './args.ts';
import type { Output } from './output.ts';

export interface CommandContext {
  args: ParsedArgs;
  output: Output;
  /**
   * Until it is called, an interrupt ends the command at once, which is to leave nothing half-written by it. From then on
   * the first one is told by the signal, and the command winds up.
   */
  windUp: () => AbortSignal;
}

export interface Command {
  /** Words after `glovebox`. */
  name: string;
  /** Positional arguments, as shown in help. */
  usage: string;
  summary: string;
  help?: string;
  positionals: { min: number; max: number };
  options: Readonly<Record<string, OptionSpec>>;
  /** @returns the exit status. */
  load: () => Promise<{ run: (context: CommandContext) => Promise<number> }>;
}

const project: Record<string, OptionSpec> = {
  project: { type: 'string', value: 'NAME', help: 'Project (default: default)' },
};

export const commands: readonly Command[] = [
  {
    name: 'init',
    usage: '',
    summary: 'Make the data directory and a commented glovebox.yaml',
    positionals: { min: 0, max: 0 },
    options: {},
    load: () => import('./commands/init.ts'),
  },
  {
    name: 'doctor',
    usage: '',
    summary: 'Look at this host, boot a probe cell, say what is in force and what is missing',
    positionals: { min: 0, max: 0 },
    options: {},
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'image build',
    usage: '',
    summary: 'Make the runtime and builder images from what is installed here',
    positionals: { min: 0, max: 0 },
    options: { force: { type: 'boolean', help: 'Make them again even if they are there' } },
    load: () => import('./commands/image-build.ts'),
  },
  {
    name: 'image show',
    usage: '',
    summary: 'Show the images, their ids and contents',
    positionals: { min: 0, max: 0 },
    options: { verify: { type: 'boolean', help: 'Compute the ids again from the files' } },
    load: () => import('./commands/image-show.ts'),
  },
  {
    name: 'node new',
    usage: '<dir>',
    summary: 'Write a small, complete node package',
    positionals: { min: 1, max: 1 },
    options: {
      id: { type: 'string', value: 'ID', help: 'Node id (default: the name of the directory)' },
      title: { type: 'string', value: 'TEXT', help: 'Title for people' },
    },
    load: () => import('./commands/node-new.ts'),
  },
  {
    name: 'node refresh',
    usage: '<dir>',
    summary: 'Write .glovebox again: types, schema and test kit, after a clone or an update',
    positionals: { min: 1, max: 1 },
    options: {},
    load: () => import('./commands/node-refresh.ts'),
  },
  {
    name: 'node run',
    usage: '<dir> --trial',
    summary: 'Run a node package once, in a fresh cell',
    help: `The input is JSON text, or @file, or @- for standard input. The exit status is 0 when the node gave an output, 1 when it failed.
Ctrl-C cancels: the node is told, and killed two seconds later.`,
    positionals: { min: 1, max: 1 },
    options: {
      trial: { type: 'boolean', help: 'Run it as it lies in the directory, unpublished' },
      input: { type: 'string', short: 'i', value: 'JSON|@FILE', help: 'Input (default: {})' },
      config: { type: 'string', short: 'c', value: 'JSON|@FILE', help: 'Config (default: {})' },
      'input-text': {
        type: 'string',
        multiple: true,
        value: 'NAME=@FILE',
        help: 'Set a field of the input to the text of a file',
      },
      fixture: { type: 'string', value: 'NAME', help: 'Run fixtures/NAME.json and compare with what it expects' },
      ...project,
    },
    load: () => import('./commands/node-run.ts'),
  },
  {
    name: 'run list',
    usage: '',
    summary: 'List runs, newest first',
    positionals: { min: 0, max: 0 },
    options: {
      limit: { type: 'string', short: 'n', value: 'N', help: 'At most so many (default: 20, at most 1000)' },
      before: { type: 'string', value: 'RUN', help: 'Only runs older than this one' },
      node: { type: 'string', value: 'ID', help: 'Only runs of this node' },
      state: { type: 'string', value: 'STATE', help: 'Only runs in this state, such as FAILED' },
      ...project,
    },
    load: () => import('./commands/run-list.ts'),
  },
  {
    name: 'run show',
    usage: '<run>',
    summary: 'Show a run: state, phases, input, config, output, logs, files',
    positionals: { min: 1, max: 1 },
    options: {
      receipt: { type: 'boolean', help: 'Print the receipt alone, byte for byte' },
      record: { type: 'boolean', help: 'With --json: add node, actor, times, image, limits, attempts and journal' },
      ...project,
    },
    load: () => import('./commands/run-show.ts'),
  },
  {
    name: 'run logs',
    usage: '<run>',
    summary: 'Print the logs of a run',
    positionals: { min: 1, max: 1 },
    options: {
      follow: { type: 'boolean', short: 'f', help: 'Go on until the run ends' },
      tail: { type: 'string', value: 'N', help: 'Only the last N lines' },
      ...project,
    },
    load: () => import('./commands/run-logs.ts'),
  },
  {
    name: 'run file',
    usage: '<run> <name>',
    summary: 'Write a file that a run made to stdout or to --out',
    positionals: { min: 2, max: 2 },
    options: {
      out: { type: 'string', short: 'o', value: 'FILE', help: 'Write here; never over a file that is there' },
      ...project,
    },
    load: () => import('./commands/run-file.ts'),
  },
  {
    name: 'explain',
    usage: '<code>',
    summary: 'Tell what an error code or the rule of a finding means and what to do',
    positionals: { min: 1, max: 1 },
    options: {},
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'verify',
    usage: '<file|run>',
    summary: 'Verify a receipt: its signature, its content and, for a run of this instance, the record',
    help: `Works offline. Without --key, the key of this instance is the one that is trusted.`,
    positionals: { min: 1, max: 1 },
    options: {
      key: {
        type: 'string',
        multiple: true,
        value: 'FILE',
        help: 'Public key in PEM that is trusted; may be given again',
      },
      ...project,
    },
    load: () => import('./commands/verify.ts'),
  },
];
