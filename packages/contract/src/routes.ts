import type { z } from 'zod';
import { auditRoutes } from './routes/audit.ts';
import { draftRoutes } from './routes/drafts.ts';
import { egressRoutes } from './routes/egress.ts';
import { instanceRoutes } from './routes/instance.ts';
import { releaseRoutes } from './routes/releases.ts';
import type { Route, Success } from './routes/route.ts';
import { runRoutes } from './routes/runs.ts';

export * from './problem.ts';
export type * from './routes/drafts.ts';
export type * from './routes/egress.ts';
export type * from './routes/releases.ts';
export { type Role, type Route, roles, type Success } from './routes/route.ts';
export type * from './routes/run-views.ts';
export type * from './routes/runs.ts';

/**
 * Every operation of the API, by name. Server, client, documents and the tests of roles derive from it; there is no
 * operation beside it.
 */
export const routes = {
  ...draftRoutes,
  ...releaseRoutes,
  ...runRoutes,
  ...egressRoutes,
  ...auditRoutes,
  ...instanceRoutes,
} as const;

type Routes = typeof routes;
export type RouteName = keyof Routes;

export const routeNames = Object.keys(routes) as RouteName[];

type SuccessOf<Name extends RouteName> = Routes[Name]['responses'][keyof Routes[Name]['responses']];

export type RouteParams<Name extends RouteName> = z.output<Routes[Name]['params']>;
export type RouteQuery<Name extends RouteName> = z.output<Routes[Name]['query']>;
/** Undefined for a route without a body. */
export type RouteBody<Name extends RouteName> = Routes[Name]['body'] extends { schema: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : undefined;
/** What JSON holds when all went well; `never` for a route that answers bytes. */
export type RouteResult<Name extends RouteName> =
  SuccessOf<Name> extends { kind: 'json'; schema: infer Schema extends z.ZodType } ? z.output<Schema> : never;
/** What a stream tells before its end; `never` for a route without one. */
export type RouteEvent<Name extends RouteName> = Routes[Name]['streams'] extends z.ZodType
  ? z.output<NonNullable<Routes[Name]['streams']>>
  : never;

/** Names of routes that stream. */
export type StreamName = { [Name in RouteName]: Routes[Name]['streams'] extends null ? never : Name }[RouteName];
/** Names of routes that answer bytes. */
export type BytesName = {
  [Name in RouteName]: SuccessOf<Name> extends { kind: 'bytes' } ? Name : never;
}[RouteName];
/** Names of routes that answer JSON. */
export type JsonName = Exclude<RouteName, BytesName>;

/** The one success of a route. */
export function successOf(route: Route): { status: number; success: Success } {
  const [entry] = Object.entries(route.responses) as [string, Success][];
  if (entry === undefined) throw new TypeError(`${route.path} has no response`);
  return { status: Number(entry[0]), success: entry[1] };
}
