import { type Digest, type Json, type Manifest, parseSize, runLimits } from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';

type HttpRule = NonNullable<Manifest['capabilities']['http']>['rules'][number];

/**
 * What a node with this manifest may do, in one form for all manifests that allow the same: rules as the set of scheme,
 * host, port, method and path that they span, however they were grouped or ordered; sizes in bytes and times in
 * milliseconds. Titles, schemas and reasons allow nothing and are left out, as is whether a slot must be bound.
 */
export function permissionsOf(manifest: Manifest): Json {
  const { http, credentials, scratch, files } = manifest.capabilities;
  return {
    schema: 'glovebox.permissions/1',
    http: http
      ? {
          rules: spannedRules(http.rules),
          maxRequests: http.maxRequests,
          maxResponseBytes: bytesOf(http.maxResponseBytes),
          maxRedirects: http.maxRedirects,
        }
      : null,
    slots: sortedBy(
      Object.entries(credentials ?? {}).map(([name, slot]) => ({
        name,
        kinds: sorted(slot.kinds),
        hosts: sorted(slot.hosts),
        reveal: slot.reveal,
      })),
      ({ name }) => name,
    ),
    scratch: scratch !== undefined,
    files: files !== undefined,
    limits: { ...runLimits(manifest) },
    sideEffect: manifest.sideEffect,
    minimumClass: 'ns',
  };
}

/** sha256 of the canonical JSON of the permissions. Approvals and receipts name permissions by it. */
export function permissionsDigest(manifest: Manifest): Digest {
  return sha256Of(canonicalJson(permissionsOf(manifest)));
}

interface SpannedRule {
  scheme: string;
  host: string;
  port: number;
  method: string;
  paths: string[];
  websocket?: true;
}

/**
 * One entry for each scheme, host, port and method, with all of its paths. Paths on which a WebSocket is allowed are in an
 * entry more, which comes next; a manifest without any has none, and the digest that it had before there were WebSockets.
 */
function spannedRules(rules: HttpRule[]): Json[] {
  const spanned = new Map<string, SpannedRule>();
  const span = (rule: Omit<SpannedRule, 'paths'>, paths: readonly string[]): void => {
    const key = [rule.scheme, rule.host, rule.port, rule.method, ...(rule.websocket ? ['websocket'] : [])].join(' ');
    const entry = spanned.get(key);
    if (entry === undefined) spanned.set(key, { ...rule, paths: [...paths] });
    else entry.paths.push(...paths);
  };
  for (const { scheme, host, port, methods, paths, websocket } of rules) {
    for (const method of methods) {
      span({ scheme, host, port, method }, paths);
      // A WebSocket begins with a GET: said of another method it allows nothing.
      if (websocket && method === 'GET') span({ scheme, host, port, method, websocket }, paths);
    }
  }
  return sortedBy([...spanned], ([key]) => key).map(([, entry]) => ({ ...entry, paths: sorted(entry.paths) }));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** By code unit, not by locale: the digest must not depend on the machine. */
const sorted = (values: readonly string[]): string[] => [...new Set(values)].sort(compare);

const sortedBy = <T>(values: T[], keyOf: (value: T) => string): T[] =>
  values.sort((a, b) => compare(keyOf(a), keyOf(b)));

function bytesOf(text: string): number {
  const bytes = parseSize(text);
  if (bytes === undefined) throw new RangeError(`${text} is not a size`);
  return bytes;
}
