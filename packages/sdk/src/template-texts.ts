export const readmeText = (id: string, title: string): string => `# ${title}

A node for Glovebox: one step of a flow, in TypeScript, run sealed.

| file | what it is |
|---|---|
| node.json | what the node takes, gives and may use; editors check it |
| src/index.ts | the node |
| test/ | its tests: \`npm test\`, offline, with nothing installed |
| fixtures/ | inputs with the outputs that are expected for them, and what origins answered |

\`\`\`sh
npm test
npm install && npm run typecheck     # types for your editor
glovebox node dev .                  # on each save: a fixture in a cell, then every check that it concerns
glovebox node validate .             # every check, and all findings at once
glovebox node publish .              # release this version
glovebox node run ${id}@0.1.0 --input '{"text":"to be or not to be"}'
\`\`\`

The name of the package in package.json is the id in node.json: \`${id}\`.
Dependencies go into package.json and package-lock.json (\`npm install <name>\`); their install scripts never run.
\`.glovebox/\` is made by glovebox and is not part of the node.
`;

export const agentsText = (id: string): string => `# Rules for whoever writes this node, agents first

You are writing \`${id}\`: one function in \`src/index.ts\` that Glovebox runs in a sealed container, once per attempt.

## What to keep
- \`src/index.ts\` exports \`defineNode<Input, Config, Output>(async (ctx) => …)\` as its default. The types say the same as the
  schemas in node.json; change both together.
- Schemas are JSON Schema 2020-12. Close objects with \`"additionalProperties": false\`, bound strings and arrays.
- Read \`ctx.input\` and \`ctx.config\`; both are frozen and already valid. Defaults in a schema are for people: fill them in by code.
- Return plain JSON. No Date, Map, BigInt, class instance, NaN, and no \`undefined\` in an object: leave the key out.
- Expected failures are \`throw new NodeError('CODE', 'what is wrong', { retryable, retryAfter, details })\`, each with a test.
- \`ctx.log\` for what a person should see; never a secret in it. \`ctx.clock\` for time, so that tests can set it.
- Files that people should get: \`ctx.files.write(name, data, mediaType)\`, with \`capabilities.files\` in node.json.
- Temporary files: only under \`ctx.scratch\`, with \`capabilities.scratch\` for more than 1 MiB.
- Requests: \`ctx.fetch\`, or any HTTP library, to what \`capabilities.http\` in node.json declares, each rule as narrow as it can be.
  Tests and fixtures never reach the network: \`glovebox node run . --trial --record NAME\` keeps answers in
  \`fixtures/NAME.cassette.json\`; a fixture names it in \`http\`, a test passes its JSON to \`runNode(node, { http })\`.
- Pass \`ctx.signal\` on to whatever can be stopped.

## What does not exist in there
Any network that node.json does not declare, environment variables, child processes, worker threads, native addons, \`eval\`, files outside \`ctx.scratch\`, and
anything left over from an earlier run. Code that tries fails with \`ERR_ACCESS_DENIED\` or the like; do not work around it.

## How to check
\`\`\`sh
npm test                                   # offline, in a moment
glovebox node validate . --json            # all that a release needs: "state" is to be "passed"
glovebox node validate . --fix             # make the edits that findings propose
glovebox explain TYPES_FAILED              # what the rule of a finding means
glovebox node run . --trial --input '{"text":"to be or not to be"}' --json
\`\`\`
Work until the first two pass. Each finding has file, line, message and hint; mend the cause, and never a test to please it.
Publish (\`glovebox node publish .\`) only when you are asked to: a version that is released is never changed again.
Ask for no more in node.json than the node needs: each line there is read by the person who approves it.
\`.glovebox/\` and \`node_modules/\` are generated: never edit them.
`;
