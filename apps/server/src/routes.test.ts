import { type Role, type Route, type RouteName, roles, routeNames, routes } from '@glovebox/contract/routes';
import { describe, expect, it } from 'vitest';
import type { Handlers } from './handler.ts';
import { handlers } from './handlers.ts';

const table = Object.entries(routes) as [RouteName, Route][];
const parametersOf = ({ path }: Route): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);

describe('the route table', () => {
  it('has a handler for each route and none beside, by type as well', () => {
    expect(Object.keys(handlers).sort()).toEqual([...routeNames].sort());
    const { 'runs.list': _, ...others } = handlers;
    // @ts-expect-error a route without a handler
    const incomplete: Handlers = others;
    // @ts-expect-error a handler without a route
    const beyond: Handlers = { ...handlers, 'runs.nowhere': handlers['runs.list'] };
    expect(Object.keys(beyond)).toHaveLength(Object.keys(incomplete).length + 2);
  });

  it.each(table)('%s says what it takes, gives and asks for', (name, route) => {
    expect(name).toMatch(/^[a-z]+\.[a-z]+$/);
    expect(roles).toContain(route.role satisfies Role);
    expect(route.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(parametersOf(route).sort()).toEqual(Object.keys(route.params.shape).sort());
    expect(Object.keys(route.responses)).toHaveLength(1);
    // Reading changes nothing and takes no body; what changes something has one, if only an empty object.
    expect(route.body === null).toBe(route.method === 'GET' || route.method === 'DELETE');
    if (route.method === 'GET' || route.method === 'PUT' || route.method === 'DELETE')
      expect(route.idempotent).toBe(true);
    if (route.body !== null) expect(route.body.maxBytes).toBeGreaterThan(1024);
    // A stream belongs to a project: who may cancel it is decided there.
    if (route.streams !== null) expect(parametersOf(route)).toContain('project');
  });

  it('leads each method and path to one route only', () => {
    const shapes = table.map(([, { method, path }]) => `${method} ${path.replace(/:\w+/g, ':')}`);
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  it('refuses fields that it does not know in every query, body and parameter', () => {
    for (const [name, { params, query, body }] of table) {
      for (const schema of [params, query, ...(body === null ? [] : [body.schema])]) {
        const { error } = schema.safeParse({ unheardOf: 1 });
        expect({ name, codes: error?.issues.map(({ code }) => code) }).toMatchObject({
          codes: expect.arrayContaining(['unrecognized_keys']),
        });
      }
    }
  });

  it('is pinned: a route that goes or changes its address is a decision', () => {
    expect(table.map(([name, { method, path, role }]) => `${name} ${method} ${path} ${role}`)).toMatchInlineSnapshot(`
      [
        "drafts.put PUT /v1/projects/:project/drafts/:id author",
        "drafts.list GET /v1/projects/:project/drafts viewer",
        "drafts.get GET /v1/projects/:project/drafts/:id viewer",
        "drafts.validate POST /v1/projects/:project/drafts/:id/validations author",
        "nodes.list GET /v1/projects/:project/nodes viewer",
        "releases.publish POST /v1/projects/:project/releases publisher",
        "releases.list GET /v1/projects/:project/releases viewer",
        "releases.get GET /v1/projects/:project/releases/:reference viewer",
        "releases.change PATCH /v1/projects/:project/releases/:reference publisher",
        "releases.revalidate POST /v1/projects/:project/releases/:reference/revalidations publisher",
        "artifacts.attestations GET /v1/projects/:project/releases/:reference/attestations viewer",
        "artifacts.export GET /v1/projects/:project/releases/:reference/artifact viewer",
        "trials.run POST /v1/projects/:project/trials author",
        "runs.start POST /v1/projects/:project/runs runner",
        "runs.list GET /v1/projects/:project/runs viewer",
        "runs.get GET /v1/projects/:project/runs/:run viewer",
        "runs.logs GET /v1/projects/:project/runs/:run/logs viewer",
        "runs.journal GET /v1/projects/:project/runs/:run/journal viewer",
        "runs.receipt GET /v1/projects/:project/runs/:run/receipt viewer",
        "runs.file GET /v1/projects/:project/runs/:run/files/:name viewer",
        "runs.verify POST /v1/projects/:project/runs/:run/verifications viewer",
        "policy.get GET /v1/projects/:project/egress-policy viewer",
        "policy.set PUT /v1/projects/:project/egress-policy admin",
        "policy.check POST /v1/projects/:project/egress-policy/checks author",
        "egress.list GET /v1/projects/:project/egress viewer",
        "audit.list GET /v1/audit admin",
        "audit.export GET /v1/audit/export admin",
        "audit.verify POST /v1/audit/verifications admin",
        "audit.checkpoints GET /v1/audit/checkpoints admin",
        "instance.get GET /v1/instance viewer",
        "instance.health GET /v1/health viewer",
        "keys.list GET /v1/keys viewer",
        "operations.cancel DELETE /v1/projects/:project/operations/:operation viewer",
      ]
    `);
  });
});
