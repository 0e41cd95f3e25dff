import { type ErrorCode, errorCatalogue, errorCodes, exitMeanings, kindMeanings } from '@glovebox/contract';

/** docs/errors.md, generated from the catalogue: every code with its exit status, its meaning and what to do. */
export function errorsMarkdown(): string {
  const row = (code: ErrorCode) => {
    const { exit, kind, summary, hint } = errorCatalogue[code];
    return `| \`${code}\` | ${exit} | ${kind} | ${cell(summary)} | ${cell(hint)} |`;
  };
  const meanings = Object.entries(exitMeanings).map(([exit, meaning]) => `| ${exit} | ${meaning} |`);
  const actions = Object.entries(kindMeanings).map(([kind, action]) => `| ${kind} | ${action} |`);
  return `# Error codes

Generated from \`packages/contract/src/error-catalogue.ts\` by \`npm run docs:write\`; do not edit.

An error has a code, a message that names the offending thing, a hint, and often a place. With \`--json\` it is
\`{ "error": { "code", "message", "hint", "place"?, "details"? } }\`. The code decides the exit status.

| exit | meaning |
|---|---|
| 0 | done |
${meanings.join('\n')}

| kind | what a caller can do |
|---|---|
${actions.join('\n')}

| code | exit | kind | meaning | what to do |
|---|---|---|---|---|
${errorCodes.map(row).join('\n')}
`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
