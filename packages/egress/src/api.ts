import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type {
  EgressApprover,
  EgressPolicy,
  EgressReason,
  EgressRecord,
  EgressTally,
  ErrorCode,
  HttpRule,
  Json,
} from '@glovebox/contract';

/** An address as the kernel gets it: 4 bytes (IPv4) or 16 (IPv6). Judged on these bytes, never on a text. */
export type AddressBytes = Uint8Array;

/** Where a request goes, read once from its URL. What is decided on is what is sent. */
export interface Target {
  readonly scheme: 'http' | 'https';
  /** A-label form in lower case, without a dot at its end; an IPv4 address as four decimals, an IPv6 address without brackets. */
  readonly host: string;
  /** Set where the host is an address and no name. */
  readonly literal: AddressBytes | undefined;
  readonly port: number;
  /** As the URL parser wrote it: begins with `/`, percent-encoded, without dot segments. */
  readonly path: string;
  /** `?…` or empty. */
  readonly query: string;
  /** Value of `Host`: the port is left out where it is the scheme's own. */
  readonly authority: string;
}

/** What one attempt may ask for, from the permissions that were approved. */
export interface HttpGrant {
  readonly rules: readonly HttpRule[];
  readonly maxRequests: number;
  /** Of all answers of the attempt together, decoded. */
  readonly maxResponseBytes: number;
  readonly maxRedirects: number;
}

export interface Request {
  readonly target: Target;
  readonly method: string;
  readonly websocket: boolean;
}

export type Decision =
  /** `rule` as it is recorded: `http.rules[3]`. The allowances are those whose host matches: their addresses may be private. */
  { readonly kind: 'allowed'; readonly rule: string; readonly allowances: readonly Allowance[] } | Denial;

export interface Denial {
  readonly kind: 'denied';
  readonly reason: EgressReason;
  /** The rule of the policy that denied it; null where nothing allowed it. */
  readonly rule: string | null;
  /** What would allow it: `{ "rules": [ … ] }`, to stand in `capabilities.http` beside what is there. Null where no manifest can. */
  readonly patch: Json | null;
  readonly approver: EgressApprover;
}

/** Addresses that a name may lead to although they are not public. */
export interface Allowance {
  readonly id: string;
  readonly cidrs: readonly Cidr[];
  readonly ports: readonly number[];
}

export interface Cidr {
  readonly address: AddressBytes;
  readonly bits: number;
}

/** A manifest's rules under one project's policy, compiled for many decisions. */
export interface Policy {
  /** On names, ports, methods and paths. No name is looked up, nothing is sent. */
  decide(request: Request): Decision;
  /** On the very address that is to be connected to. */
  judgeAddress(
    target: Pick<Target, 'host' | 'port'>,
    address: AddressBytes,
    allowances: readonly Allowance[],
  ): AddressVerdict;
}

export type AddressVerdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused'; readonly reason: EgressReason; readonly rule: string | null; readonly why: string };

/** Looks names up. Only names that a policy has let through are ever asked for. */
export interface Resolver {
  /** @throws GloveboxError `EGRESS_FAILED`, reason `NAME_NOT_FOUND` or `CONNECT_TIMED_OUT`. */
  resolve(host: string, signal: AbortSignal): Promise<readonly AddressBytes[]>;
}

/** Milliseconds. */
export interface DialTimeouts {
  readonly connect: number;
  /** From the request's last byte, or from its head where it has no body, to the answer's head. */
  readonly headers: number;
  /** Without a byte in either direction, once the head of the answer is there. */
  readonly idle: number;
  /** Of the whole request, retries included. */
  readonly total: number;
}

/** Whoever asks for a connection says what for: each purpose has its own policy and its own connections. */
export type Purpose = 'node' | 'registry' | 'advisories';

/** May the next byte still leave? Asked before each request and each chunk of a body; throws `EGRESS_DENIED` when not. */
export type Fence = () => void;

export interface DialRequest {
  readonly target: Target;
  readonly method: string;
  /** Lower-case names. Neither `host` nor anything that describes the connection: those are the dialer's. */
  readonly headers: Readonly<Record<string, string>>;
  /** Pulled chunk by chunk; each passes the fence on its way out. */
  readonly body: AsyncIterable<Uint8Array> | undefined;
  readonly allowances: readonly Allowance[];
  readonly fence: Fence;
  readonly signal: AbortSignal;
  readonly timeouts: DialTimeouts;
  /** Tries beyond the first, for requests that are safe to repeat. */
  readonly retries: number;
  readonly progress?: DialProgress;
}

/** What is told on the way to an answer, whether one comes or not. */
export interface DialProgress {
  /** There is a connection on which the request is about to leave. Told again where it takes another one. */
  connected(address: string, protocol: 'h1' | 'h2'): void;
  /** Whether there may be one more try, asked before the wait for it; false: what there is is given as it is. */
  mayRetry(): boolean;
}

export interface DialResponse {
  readonly status: number;
  /**
   * Lower-case names. Several fields of one name are joined by `, `; but the value of `set-cookie` is always a JSON array of
   * texts, one for each field, as the channel carries it. Hop-by-hop headers are gone.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded. For one reader; reading it is what lets more come. Leaving the loop early ends the request. */
  readonly body: AsyncIterable<Uint8Array>;
  readonly address: string;
  readonly protocol: 'h1' | 'h2' | 'cassette';
  readonly retries: number;
}

/** A connection that speaks WebSocket, once the origin agreed. */
export interface DialUpgrade {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly socket: Socket;
  readonly address: string;
}

/**
 * Connections for one scope, such as one attempt: none of them is used for another, and all die with it.
 *
 * Every rejection is a GloveboxError of `EGRESS_DENIED`, `EGRESS_FAILED`, `EGRESS_TIMED_OUT`, `EGRESS_BUDGET` or `CASSETTE_MISS`, whose
 * `details.reason` is an EgressReason.
 */
export interface DialScope {
  request(request: DialRequest): Promise<DialResponse>;
  upgrade(request: Omit<DialRequest, 'body' | 'retries' | 'method'>): Promise<DialUpgrade>;
  /** Ends every connection at once. Nothing leaves after this returns. */
  destroy(): void;
}

export interface Dialer {
  /** @param policy decides on the addresses; names, methods and paths were decided on before. */
  scope(purpose: Purpose, policy: Pick<Policy, 'judgeAddress'>): DialScope;
  /** For libraries that bring their own HTTP client: connections of theirs are vetted as ours are. */
  agents(
    purpose: Purpose,
    policy: Pick<Policy, 'judgeAddress'>,
  ): { http: HttpAgent; https: HttpsAgent; destroy(): void };
  destroy(): void;
}

/** How this host reaches the outside. */
export interface DialerSettings {
  readonly resolver: Resolver;
  /** Certificates in PEM that count beside those of Node.js. */
  readonly extraCa: readonly string[];
  /** In PEM, in place of those of Node.js; absent or empty: those. */
  readonly roots?: readonly string[];
  /** URL of an HTTP proxy (`http://` or `https://`); credentials in it are used and never told. */
  readonly proxy: string | undefined;
}

/** One request of a cell, as the channel has it; `ServerStream` of @glovebox/channel is one. */
export interface CellRequest {
  readonly head: { readonly method: string; readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly body: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
  respond(head: { status: number; headers: { [name: string]: string } }): void;
  write(chunk: Uint8Array): Promise<void>;
  end(): void;
  /** Where an answer has begun and breaks off, the reason begins with an EgressReason, by which the cell names its error. */
  reset(reason: string): void;
}

/** Everything about one attempt that a request of it is judged by. */
export interface SessionOptions {
  readonly project: string;
  readonly run: string;
  readonly attempt: string;
  readonly node: string;
  /** Undefined: the manifest declares no http. Everything is denied, and recorded. */
  readonly grant: HttpGrant | undefined;
  readonly policy: EgressPolicy;
  /** By `bootMs`: nothing leaves from then on. */
  readonly deadlineAtBootMs: number;
  /** Milliseconds since boot, suspended time included: whoever was stopped finds it late when he wakes. */
  readonly bootMs: () => number;
  readonly now: () => number;
  /**
   * Where records go, twice for each request: when it is decided, before anything leaves, and when it has ended. Resolves,
   * for one that is `open`, when it is kept, for any other once there is room for more; rejects when they cannot be kept, and
   * then nothing leaves.
   */
  readonly record: (record: EgressRecord) => Promise<void>;
  /**
   * Between the origin and the cell, for each answer: what is looked for in it, and stopped. A chunk that it has yielded is on its
   * way, and must not be changed any more. It ends when the body that it is given does.
   */
  readonly screen?: (body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  /** The cell asks for more refusals than anybody has use for: it only keeps the host busy, and must end. Told once. */
  readonly onAbuse?: (detail: string) => void;
}

/** The egress of one attempt. */
export interface EgressSession {
  /** Serve one request to its end. Never throws. */
  accept(request: CellRequest): Promise<void>;
  /** Refuse what is new, abort what is open, end every connection: when this returns nothing leaves any more. */
  end(): void;
  /** When every request has been told to `record`, for the last time. */
  settled(): Promise<void>;
  readonly summary: EgressSummary;
}

export interface EgressSummary {
  readonly requests: number;
  /** Same scheme, host, port, method, outcome, rule and reason, counted; the commonest first, at most 200, what may have left before what was refused. */
  readonly decisions: readonly EgressTally[];
}

/** Opens sessions: from the dialer in a run, from a cassette in a fixture. */
export interface Egress {
  /** There where nothing leaves: what its sessions decide and count is of a recording. */
  readonly source?: 'cassette';
  open(options: SessionOptions): EgressSession;
}

/** Body of an answer of ours, as application/problem+json beside the members of RFC 9457. */
export interface EgressProblem {
  readonly code: ErrorCode;
  readonly reason: EgressReason;
  readonly rule: string | null;
  readonly patch: Json | null;
  readonly approver: EgressApprover;
  readonly hint: string;
}
