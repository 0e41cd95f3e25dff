// What the same bundle takes without any of us: Node.js loads it, calls it with a job from stdin and prints the output.
import { readFileSync } from 'node:fs';

const { bundle, input, config } = JSON.parse(readFileSync(0, 'utf8'));
const { default: node } = await import(bundle);
const noop = () => undefined;
const context = {
  input,
  config,
  log: { debug: noop, info: noop, warn: noop, error: noop },
  progress: noop,
  signal: new AbortController().signal,
  files: { write: async () => ({ digest: '', sizeBytes: 0 }) },
};
const handler = typeof node === 'function' ? node : node.handler;
process.stdout.write(`${JSON.stringify(await handler(context))}\n`);
process.exit(0);
