import { egressAnswerHeader } from '@glovebox/contract';
import {
  type CassetteHeaders,
  cassetteLimits,
  headerValue,
  keptLocation,
  notRecorded,
  refusedOfAnswers,
} from '@glovebox/sdk/cassette';

type Head = Readonly<Record<string, string>>;

/** Of a request: what tells which answer is asked for. Any other header may be a secret, whatever it is called. */
const toldOfRequests: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'prefer',
  'range',
  'x-github-api-version',
]);

/** Secret by their names: that they were there is told, what they were is not. */
const secret: ReadonlySet<string> = new Set([
  'api-key',
  'authentication-info',
  'authorization',
  'cookie',
  'private-token',
  'proxy-authorization',
  'session-token',
  'set-cookie',
  'x-access-token',
  'x-amz-security-token',
  'x-api-key',
  'x-auth-key',
  'x-auth-token',
  'x-authorization',
  'x-csrf-token',
  'x-goog-api-key',
  'x-refresh-token',
  'x-session-id',
  'x-session-token',
  'x-subject-token',
  'x-vault-token',
  'x-xsrf-token',
]);

/** Of answers: about the connection that there was, and of no use to a node. */
const connectionOfAnswers: ReadonlySet<string> = new Set(['alt-svc', 'nel', 'report-to', 'strict-transport-security']);

/** @returns undefined where nothing is left. */
export function keptRequestHeaders(headers: Head): CassetteHeaders | undefined {
  return kept(headers, (name) => toldOfRequests.has(name) || secret.has(name));
}

/** @returns undefined where nothing is left. */
export function keptAnswerHeaders(headers: Head): CassetteHeaders | undefined {
  return kept(headers, (name) => !refusedOfAnswers.test(name) && !connectionOfAnswers.has(name));
}

/** Whether an answer is the host's own and no origin's. */
export const isOurs = (headers: Head): boolean => headers[egressAnswerHeader] !== undefined;

function kept(headers: Head, isTold: (name: string) => boolean): CassetteHeaders | undefined {
  const told = Object.keys(headers)
    .filter((name) => isTold(name) && name !== '__proto__')
    .sort()
    .map((name): [string, string] => [name, keptValue(name, headers[name] ?? '')])
    // What no reader of cassettes would take.
    .filter(([, value]) => value.length <= cassetteLimits.headerValue && headerValue.test(value))
    .slice(0, cassetteLimits.headers);
  return told.length === 0 ? undefined : Object.fromEntries(told);
}

function keptValue(name: string, value: string): string {
  if (secret.has(name)) return notRecorded;
  // Pages lead to the next one by the very query that they were asked for with.
  if (name === 'link') return value.replace(/<([^<>]*)>/g, (_, location: string) => `<${keptLocation(location)}>`);
  return name === 'location' || name === 'content-location' ? keptLocation(value) : value;
}
