#!/usr/bin/env node
// The one way in: `node tools/bootstrap.mjs <task> [--yes] [arguments of the task]`. It brings this clone to where the
// task can run, then runs it on the pinned Node.js. It has no dependency and runs on any Node.js from 20 on; this file
// keeps to syntax that far older ones can read, so that they answer with a sentence and not with a SyntaxError.
var major = Number(process.versions.node.split('.')[0]);
if (major < 20) {
  process.stderr.write(
    'setup: HOST_UNSUPPORTED: Node.js ' +
      process.versions.node +
      ' is too old to set up Glovebox.\n' +
      '  Install Node.js 20 or later. Glovebox then brings the version that it runs on itself.\n',
  );
  process.exitCode = 3;
} else {
  import('./bootstrap/main.mjs')
    .then((main) => main.main(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    });
}
