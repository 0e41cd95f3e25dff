import type { HttpRule } from '@glovebox/contract';
import type { Request } from './api.ts';
import { HostIndex } from './host-match.ts';
import { PathPattern, type PathReadings } from './path-match.ts';
import { PathTable } from './path-match-table.ts';

/** What a rule has to have in common with a request, in the order in which it is told that none has it. */
const steps = ['host', 'scheme', 'port', 'method', 'path', 'websocket'] as const;

export type RuleMatch =
  /** By the first rule in their order. */
  | { readonly kind: 'matched'; readonly index: number }
  /** `at` the step at which the nearest rule gave up. */
  | { readonly kind: 'missed'; readonly at: (typeof steps)[number] };

/** The rules for one pattern of hosts: scheme, then port, then method, then paths. */
type Schemes = Map<string, Map<number, Map<string, Paths>>>;

interface Paths {
  readonly requests: PathTable;
  /** Of the rules that let a request become a WebSocket; undefined where there is none. */
  websockets: PathTable | undefined;
}

/** Rules of a manifest, or of a policy's maximum. One rule has to match all of a request. */
export class RuleTable {
  readonly #hosts = new HostIndex<Schemes>();

  constructor(rules: readonly HttpRule[]) {
    const byHost = new Map<string, Schemes>();
    for (const [index, rule] of rules.entries()) {
      // Once for all methods, which may be seven.
      const patterns = rule.paths.map((path) => new PathPattern(path));
      for (const method of rule.methods) {
        const schemes = getOrAdd(byHost, rule.host, () => new Map());
        const ports = getOrAdd(schemes, rule.scheme, () => new Map());
        const methods = getOrAdd(ports, rule.port, () => new Map());
        const paths = getOrAdd(methods, method, (): Paths => ({ requests: new PathTable(), websockets: undefined }));
        for (const pattern of patterns) {
          paths.requests.add(pattern, index);
          // A WebSocket begins with a GET, whatever other methods the rule has.
          if (rule.websocket && method === 'GET') {
            paths.websockets ??= new PathTable();
            paths.websockets.add(pattern, index);
          }
        }
      }
    }
    for (const [host, schemes] of byHost) this.#hosts.add(host, schemes);
  }

  match(request: Request, readings: PathReadings): RuleMatch {
    const { host, literal } = request.target;
    let first: number | undefined;
    let furthest = 0;
    for (const schemes of this.#hosts.find(host, literal === undefined ? 'name' : 'address')) {
      const reached = reach(schemes, request, readings);
      if (typeof reached === 'string') furthest = Math.max(furthest, steps.indexOf(reached));
      else if (first === undefined || reached.index < first) first = reached.index;
    }
    return first === undefined ? { kind: 'missed', at: steps[furthest] ?? 'host' } : { kind: 'matched', index: first };
  }
}

/** The first rule that matches, or the step at which the nearest gives up. */
function reach(
  schemes: Schemes,
  { target, method, websocket }: Request,
  readings: PathReadings,
): { readonly index: number } | (typeof steps)[number] {
  const ports = schemes.get(target.scheme);
  if (ports === undefined) return 'scheme';
  const methods = ports.get(target.port);
  if (methods === undefined) return 'port';
  const paths = methods.get(method);
  if (paths === undefined) return 'method';
  const index = (websocket ? paths.websockets : paths.requests)?.firstRule(readings);
  if (index !== undefined) return { index };
  return websocket && paths.requests.firstRule(readings) !== undefined ? 'websocket' : 'path';
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
