import type {
  BytesName,
  Role,
  RouteBody,
  RouteEvent,
  RouteName,
  RouteParams,
  RouteQuery,
  RouteResult,
} from '@glovebox/contract/routes';
import type { OpenParts } from '@glovebox/engine';
import type { Operations } from './operations.ts';

/** Who calls. */
export interface Principal {
  /** As it stands in records, such as `local:uid=0`. */
  name: string;
  roles: readonly Role[];
  /**
   * Whether a person is there to confirm what weakens a safeguard. `unattended`: a program of this host, which has every role and
   * may not do that. Left out: attended, as whoever proved who he is with a token.
   */
  presence?: 'attended' | 'unattended';
}

/** What handlers work with. */
export interface Parts {
  open: OpenParts;
  /**
   * Mark what dead processes left behind, where this process is the one that may. Called before records are told that
   * somebody waits for.
   */
  recover: () => Promise<void>;
  operations: Operations;
  projects: readonly string[];
}

export interface Call<Name extends RouteName> {
  params: RouteParams<Name>;
  query: RouteQuery<Name>;
  body: RouteBody<Name>;
  actor: string;
  /** See Principal. */
  presence: 'attended' | 'unattended';
  /** Aborted when the caller is gone or asks to wind up; the reason is a text. */
  signal: AbortSignal;
  /** Whether events are wanted. Where they are not, `tell` and `write` do nothing. */
  streaming: boolean;
  /** Of what comes too fast for the reader, logs and progress are left out. */
  tell(event: RouteEvent<Name>): void;
  /** Waits for a slow reader. */
  write(event: RouteEvent<Name>): Promise<void>;
}

/** @returns what is answered. Whatever it throws is told as a problem. */
export type Handler<Name extends RouteName> = (
  call: Call<Name>,
  parts: Parts,
) => Promise<Name extends BytesName ? AsyncIterable<Uint8Array> : RouteResult<Name>>;

/** One for each route, and none beside. */
export type Handlers<Name extends RouteName = RouteName> = { readonly [N in Name]: Handler<N> };

/** Names of routes that begin with one of these. */
export type GroupName<Group extends string> = Extract<RouteName, `${Group}.${string}`>;
