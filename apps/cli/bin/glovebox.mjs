#!/usr/bin/env node
// Plain launcher: runs under any Node.js from 20 on, and hands over to the pinned one where its own is too old or where
// the environment would slow or steer it. Nothing but this file runs under the other Node.js.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const args = process.argv.slice(2);
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  process.stdout.write(`glovebox ${version}\n`);
} else {
  launch();
}

function launch() {
  const entry = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const { NODE_OPTIONS: _options, NODE_EXTRA_CA_CERTS: extraCa, NODE_PATH: _path, ...env } = process.env;
  if (extraCa !== undefined && env.GLOVEBOX_EXTRA_CA === undefined) env.GLOVEBOX_EXTRA_CA = extraCa;
  env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../../node_modules/.cache/glovebox-compile', import.meta.url));
  // Says that descriptor 3 is the lifeline below.
  env.GLOVEBOX_LIFELINE = '3';
  const child = spawn(
    pinnedNode(),
    [
      '--disallow-code-generation-from-strings',
      '--disable-warning=ExperimentalWarning',
      // MiB. What modules leave behind as they load would be collected many times over, a sixth of a short command. And no
      // more: V8 would take it where much passes through, and hold 50 MB more for a long download.
      '--min-semi-space-size=8',
      '--max-semi-space-size=8',
      entry,
      ...args,
    ],
    {
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
      env,
    },
  );
  // The program's hold on us: its end tells that we are gone, whatever killed us, and each byte that a signal came. Not
  // child.kill(): a Ctrl-C reaches the program from the terminal too, and would count as two.
  const lifeline = child.stdio[3];
  lifeline.on('error', () => {});
  for (const signal of signals) process.on(signal, () => lifeline.write('s'));
  child.on('error', (error) => {
    process.stderr.write(
      `error HOST_UNSUPPORTED: the pinned Node.js does not start: ${error.message}\n  hint: run npm ci\n`,
    );
    process.exitCode = 3;
  });
  child.on('exit', (code, signal) => {
    lifeline.destroy();
    if (signal === null) process.exitCode = code ?? 70;
    // Interrupted before it could listen.
    else if (signals.includes(signal)) process.exitCode = 130;
    else process.kill(process.pid, 'SIGKILL');
  });
}

function pinnedNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 24 || (major === 24 && minor >= 15)) return process.execPath;
  try {
    return createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);
  } catch {
    process.stderr.write(
      `error HOST_UNSUPPORTED: Node.js ${process.versions.node} is too old and no pinned one is installed\n  hint: run npm ci\n`,
    );
    process.exit(3);
  }
}
