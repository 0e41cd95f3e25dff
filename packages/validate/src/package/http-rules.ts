import type { HttpRule, Json, Manifest } from '@glovebox/contract';
import { valueAt } from '../json/value.ts';
import type { ManifestProblem } from './manifest.ts';
import { isSharedSuffix } from './shared-suffixes.ts';

/** Rules of capabilities.http that a schema cannot state. `raw` is what the author wrote, without defaults. */
export function checkHttpRules({ capabilities }: Manifest, raw: Json): ManifestProblem[] {
  return (capabilities.http?.rules ?? []).flatMap((rule, index) => [
    ...tooWide(rule, index),
    ...websocketMethods(rule, index),
    ...deadPaths(rule, index),
    ...defaultPort(rule, index, raw),
  ]);
}

const pathOf = (index: number, ...rest: (string | number)[]) => ['capabilities', 'http', 'rules', index, ...rest];
const nameOf = (index: number, rest = '') => `capabilities.http.rules[${index}]${rest}`;

/** Anybody can have a name below such a host, so a rule for all of them is a rule for everybody. */
function tooWide({ host }: HttpRule, index: number): ManifestProblem[] {
  if (!host.startsWith('*.') || !isSharedSuffix(host.slice(2))) return [];
  return [
    {
      path: pathOf(index, 'host'),
      message: `${nameOf(index, '.host')}: ${host} is too wide: anybody can register a name below ${host.slice(2)}`,
      hint: 'Name the host, or a wildcard below a domain that one owner has.',
    },
  ];
}

/** A WebSocket begins with a GET; with other methods in the rule a reader would take it for more than it is. */
function websocketMethods({ websocket, methods }: HttpRule, index: number): ManifestProblem[] {
  if (!websocket || (methods.length === 1 && methods[0] === 'GET')) return [];
  return [
    {
      path: pathOf(index, 'methods'),
      message: `${nameOf(index, '.methods')}: must be ["GET"] alone where websocket is true`,
      hint: 'Give the other methods a rule of their own.',
    },
  ];
}

/** Patterns that no path of a request can match, or that mean less than they look like. */
function deadPaths({ paths }: HttpRule, index: number): ManifestProblem[] {
  return paths.flatMap((path, at) => {
    const fault = pathFault(path);
    if (fault === undefined) return [];
    return [
      {
        path: pathOf(index, 'paths', at),
        message: `${nameOf(index, `.paths[${at}]`)}: ${fault}`,
        hint: 'Write * for one whole segment, ** for all that follows at the end, and anything else as it is in the path.',
      },
    ];
  });
}

function pathFault(path: string): string | undefined {
  if (/[?#]/.test(path)) return 'has a query or a fragment; rules are about paths alone';
  if (path.includes('\\')) return 'has a backslash; no request with one leaves';
  const segments = path.split('/').slice(1);
  if (segments.slice(0, -1).includes('**')) return 'has ** before its end';
  if (segments.some((segment) => segment === '.' || segment === '..'))
    return 'has a dot segment; no request with one leaves';
  const mixed = segments.find((segment) => segment.includes('*') && segment !== '*' && segment !== '**');
  if (mixed !== undefined) return 'has a star in a segment with more; write %2A for one that is part of the path';
  return undefined;
}

/** The port defaults to 443 whatever the scheme. */
function defaultPort({ scheme, port }: HttpRule, index: number, raw: Json): ManifestProblem[] {
  if (scheme !== 'http' || port !== 443 || valueAt(raw, pathOf(index, 'port')) !== undefined) return [];
  return [
    {
      path: pathOf(index),
      message: `${nameOf(index)}: http without a port means port 443`,
      hint: 'Write the port, such as 80.',
      severity: 'warning',
    },
  ];
}
