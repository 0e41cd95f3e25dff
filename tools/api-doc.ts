import { errorCodes, formatSize } from '@glovebox/contract';
import { problemStatus, type Route, type RouteName, routes, successOf } from '@glovebox/contract/routes';

/** docs/api.md, generated from the route table: every operation with what it takes and gives. */
export function apiMarkdown(): string {
  const table = Object.entries(routes) as [RouteName, Route][];
  const groups = Map.groupBy(table, ([name]) => name.slice(0, name.indexOf('.')));
  return `# API

Generated from \`packages/contract/src/routes.ts\` by \`npm run docs:write\`; do not edit.

JSON in, JSON out, but for what answers bytes. A field that a route does not know is refused by its name, in query and body
alike; a body is refused beyond its limit before anything of it is parsed. What is not in a caller's project answers 404, and
so does a parameter that is the name of nothing.

What goes wrong is \`application/problem+json\` (RFC 9457): \`{ type, title, status, detail, code, hint?, place?, details? }\`,
where \`code\` is one of [the catalogue](errors.md) and \`detail\` its message.

${statusTable()}

**Streams.** Where it says so, \`Accept: text/event-stream\` gives server-sent events in place of one answer. The first is
\`accepted { operation }\`, which \`operations.cancel\` takes; the last is \`result\`, with what would have been answered, or
\`problem\`. A caller that is gone ends what is done for it, and cells with it. One that reads too slowly misses log and
progress events, which a \`skipped { events }\` counts: the record has them.

${[...groups].map(([group, members]) => `## ${group}\n\n${members.map(([name, route]) => operation(name, route)).join('\n')}`).join('\n')}`;
}

function statusTable(): string {
  const byStatus = Map.groupBy(errorCodes, problemStatus);
  const rows = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, codes]) => {
      const [first, second, third, ...rest] = codes.map((code) => `\`${code}\``);
      const some = [first, second, third].filter((code) => code !== undefined).join(', ');
      return `| ${status} | ${some}${rest.length > 0 ? ' …' : ''} |`;
    });
  return `| status | codes |\n|---|---|\n${rows.join('\n')}`;
}

function operation(name: RouteName, route: Route): string {
  const { success } = successOf(route);
  const lines = [
    `**\`${name}\`** \`${route.method} ${route.path}\` — ${route.summary}.`,
    `Role ${route.role}; ${route.idempotent ? 'may be repeated' : 'is not to be repeated'}.`,
  ];
  const query = fields(route.query);
  if (query !== '') lines.push(`Query: ${query}.`);
  if (route.body !== null) {
    const body = fields(route.body.schema);
    lines.push(`Body: ${body === '' ? 'an empty object' : body}; at most ${formatSize(route.body.maxBytes)}.`);
  }
  if (success.kind === 'bytes') lines.push(`Answers \`${success.mediaType}\`.`);
  if (route.streams !== null) lines.push('Streams.');
  return `${lines.join('\n')}\n`;
}

/** Names of the fields of an object, those that may be left out with a question mark. */
function fields(schema: Route['query']): string {
  return Object.entries(schema.shape)
    .map(([name, field]) => `\`${name}${field.safeParse(undefined).success ? '?' : ''}\``)
    .join(', ');
}
