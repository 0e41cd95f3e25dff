import { type ErrorCode, errorCatalogue, errorCodes } from '@glovebox/contract';

const exits: { [exit: number]: string } = {
  1: 'the thing itself failed',
  2: 'usage or bad input; nothing was started',
  3: 'this host cannot',
  4: 'refused',
  70: 'a defect of Glovebox',
  130: 'interrupted',
};

const kinds = {
  user: 'mend the input',
  host: 'mend the machine',
  retry: 'try again',
  final: 'do not try again',
  defect: 'report it',
} as const;

/** docs/errors.md, generated from the catalogue: every code with its exit status, its meaning and what to do. */
export function errorsMarkdown(): string {
  const row = (code: ErrorCode) => {
    const { exit, kind, summary, hint } = errorCatalogue[code];
    return `| \`${code}\` | ${exit} | ${kind} | ${cell(summary)} | ${cell(hint)} |`;
  };
  const meanings = Object.entries(exits).map(([exit, meaning]) => `| ${exit} | ${meaning} |`);
  const actions = Object.entries(kinds).map(([kind, action]) => `| ${kind} | ${action} |`);
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
