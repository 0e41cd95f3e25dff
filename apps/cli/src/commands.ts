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
    usage: '<ref> | <dir> --trial',
    summary: 'Run a release, or a node package as it lies in a directory, once, in a fresh cell',
    help: `A reference is [project/]id, id@1.2.3 or id@sha256:…; without version or digest it means the newest that is not revoked.
The input is JSON text, or @file, or @- for standard input. The exit status is 0 when the node gave an output, 1 when it failed.
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
      fixture: {
        type: 'string',
        value: 'NAME',
        help: 'Run fixtures/NAME.json, offline, and compare with what it expects',
      },
      record: {
        type: 'string',
        value: 'NAME',
        help: 'Keep what it asks origins, and their answers, in fixtures/NAME.cassette.json if it succeeds',
      },
      force: { type: 'boolean', help: 'With --record: replace a cassette that is there' },
      ...project,
    },
    load: () => import('./commands/node-run.ts'),
  },
  {
    name: 'node validate',
    usage: '<dir>',
    summary: 'Run every check over a node package, each in fresh cells, and tell all findings at once',
    help: `The package is registered as a draft at the revision that its files make. What was checked before over the same bytes
is taken from the cache. The exit status is 0 when it passed, 1 when a check failed.`,
    positionals: { min: 1, max: 1 },
    options: {
      fix: { type: 'boolean', help: 'Make the edits that findings propose in the files, then validate again' },
      ...project,
    },
    load: () => import('./commands/node-validate.ts'),
  },
  {
    name: 'node publish',
    usage: '<dir|id>',
    summary: 'Release a node package: validate the directory, or take the draft that has passed',
    help: `Publishing the same content again changes nothing. Another content needs another version.`,
    positionals: { min: 1, max: 1 },
    options: { ...project },
    load: () => import('./commands/node-publish.ts'),
  },
  {
    name: 'node dev',
    usage: '<dir>',
    summary: 'Watch a node package: on each save run a fixture and validate what changed',
    help: `With --json=lines each round tells round, fixture and validated events. Ctrl-C ends it.`,
    positionals: { min: 1, max: 1 },
    options: {
      fixture: { type: 'string', value: 'NAME', help: 'Run fixtures/NAME.json (default: the first by name)' },
      ...project,
    },
    load: () => import('./commands/node-dev.ts'),
  },
  {
    name: 'node list',
    usage: '',
    summary: 'List nodes with their newest release and their draft',
    positionals: { min: 0, max: 0 },
    options: { ...project },
    load: () => import('./commands/node-list.ts'),
  },
  {
    name: 'node show',
    usage: '<ref>',
    summary: 'Show a release: state, artifact, permissions, packages, attestations',
    help: `A reference is [project/]id, id@1.2.3 or id@sha256:…; without version or digest it means the newest that is not revoked.`,
    positionals: { min: 1, max: 1 },
    options: { ...project },
    load: () => import('./commands/node-show.ts'),
  },
  {
    name: 'node deprecate',
    usage: '<ref>',
    summary: 'Advise against a release; it still runs',
    positionals: { min: 1, max: 1 },
    options: {
      reason: { type: 'string', value: 'TEXT', help: 'Why; told to whoever runs it' },
      undo: { type: 'boolean', help: 'Take it back' },
      ...project,
    },
    load: () => import('./commands/node-deprecate.ts'),
  },
  {
    name: 'node revoke',
    usage: '<ref>',
    summary: 'Refuse every later run of a release, for good',
    positionals: { min: 1, max: 1 },
    options: { reason: { type: 'string', value: 'TEXT', help: 'Why; told to whoever tries to run it' }, ...project },
    load: () => import('./commands/node-revoke.ts'),
  },
  {
    name: 'node revalidate',
    usage: '<ref>',
    summary: 'Check a release again in the runtime image of today, and let it run there',
    positionals: { min: 1, max: 1 },
    options: { ...project },
    load: () => import('./commands/node-revalidate.ts'),
  },
  {
    name: 'node export',
    usage: '<ref> <file>',
    summary: 'Write the artifact of a release with its attestations to a file: an OCI image layout in a tar',
    positionals: { min: 2, max: 2 },
    options: { ...project },
    load: () => import('./commands/node-export.ts'),
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
    name: 'policy show',
    usage: '',
    summary: 'Show what nodes of a project may do beyond and below what their manifests declare',
    help: `What it prints is what policy set takes: glovebox policy show > policy.yaml, change it, glovebox policy set policy.yaml.`,
    positionals: { min: 0, max: 0 },
    options: { ...project },
    load: () => import('./commands/policy-show.ts'),
  },
  {
    name: 'policy set',
    usage: '<file|->',
    summary: 'Set the egress policy of a project from a file of YAML or JSON, and say what that changes',
    help: `Where the policy lets more through than the one before (an allowance more, a denial less, a larger maximum), it is set only
when a person at a terminal confirms that; from a pipe or a script it is refused with EGRESS_POLICY_WIDER. Runs that have begun
keep the policy that they began with. docs/egress.md tells what a policy can say.`,
    positionals: { min: 1, max: 1 },
    options: {
      revision: { type: 'string', value: 'N', help: 'Only where the policy is still at this revision' },
      ...project,
    },
    load: () => import('./commands/policy-set.ts'),
  },
  {
    name: 'policy check',
    usage: '<method> <url>',
    summary: 'Tell which rule decides on a request, and why; nothing is sent',
    help: `With --node the request is held to what that node declares, within the policy; without, to the policy alone. The exit status
is 0 when it would be allowed, 4 when it would be denied.

  glovebox policy check GET https://api.example.com/v1/items --node ./my-node
  glovebox policy check GET https://git.example.internal/ --resolve`,
    positionals: { min: 2, max: 2 },
    options: {
      node: {
        type: 'string',
        value: 'REF|DIR',
        help: 'A release, or the directory of a node package such as ./my-node',
      },
      websocket: { type: 'boolean', help: 'The request is to become a WebSocket' },
      resolve: { type: 'boolean', help: 'Look the name up as well, and judge its addresses' },
      ...project,
    },
    load: () => import('./commands/policy-check.ts'),
  },
  {
    name: 'egress log',
    usage: '',
    summary: 'List the requests of nodes, newest first: what was decided, and what came of it',
    positionals: { min: 0, max: 0 },
    options: {
      limit: { type: 'string', short: 'n', value: 'N', help: 'At most so many (default: 50, at most 1000)' },
      before: { type: 'string', value: 'NO', help: 'Only requests older than this one' },
      run: { type: 'string', value: 'RUN', help: 'Only requests of this run' },
      host: { type: 'string', value: 'HOST', help: 'Only requests to this host' },
      outcome: { type: 'string', value: 'OUTCOME', help: 'Only with this outcome, such as denied' },
      ...project,
    },
    load: () => import('./commands/egress-log.ts'),
  },
  {
    name: 'audit list',
    usage: '',
    summary: 'List what was done by whom, oldest first',
    positionals: { min: 0, max: 0 },
    options: {
      limit: { type: 'string', short: 'n', value: 'N', help: 'At most so many (default: 50, at most 1000)' },
      after: { type: 'string', value: 'NO', help: 'Only entries after this one' },
      action: { type: 'string', value: 'ACTION', help: 'Only this action, such as release.published' },
      subject: { type: 'string', value: 'SUBJECT', help: 'Only about this, such as default/csv-profile@1.0.0' },
    },
    load: () => import('./commands/audit-list.ts'),
  },
  {
    name: 'audit verify',
    usage: '',
    summary: 'Verify the audit chain from its first entry, and every signed checkpoint',
    positionals: { min: 0, max: 0 },
    options: {},
    load: () => import('./commands/audit-verify.ts'),
  },
  {
    name: 'audit export',
    usage: '',
    summary: 'Write the audit chain as lines of JSON, for keeping and verifying elsewhere',
    positionals: { min: 0, max: 0 },
    options: {
      out: { type: 'string', short: 'o', value: 'FILE', help: 'Write here; never over a file that is there' },
    },
    load: () => import('./commands/audit-export.ts'),
  },
  {
    name: 'key show',
    usage: '',
    summary: 'Print the public key of this instance, for others to pin, and those that are retired',
    positionals: { min: 0, max: 0 },
    options: {},
    load: () => import('./commands/key-show.ts'),
  },
  {
    name: 'key rotate',
    usage: '--yes',
    summary: 'Give this instance a new signing key and retire the old one',
    help: `What the old key signed is KEY_RETIRED to whoever pins keys/keys.json, until the old key itself is pinned. Releases of this
instance go on running. Rotate while nothing else runs here: a command that is under way goes on signing with the old key.`,
    positionals: { min: 0, max: 0 },
    options: { yes: { type: 'boolean', short: 'y', help: 'Do it' } },
    load: () => import('./commands/key-rotate.ts'),
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
    usage: '<file|run|ref>',
    summary: 'Verify a receipt, an artifact or an audit export: signatures, content and, if it is of here, the record',
    help: `A file is a receipt, an export of the audit chain, or an artifact: a tar, or the directory of an OCI image layout.
Works offline. Without --key, the key of this instance is the one that is trusted.`,
    positionals: { min: 1, max: 1 },
    options: {
      key: {
        type: 'string',
        multiple: true,
        value: 'FILE',
        help: 'Trusted: a public key in PEM, or keys.json of an instance; may be given again',
      },
      digest: { type: 'string', value: 'DIGEST', help: 'Which artifact, where a layout has several' },
      ...project,
    },
    load: () => import('./commands/verify.ts'),
  },
];
