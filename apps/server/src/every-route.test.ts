import { problemSchema, type Route, type RouteName, roles, routes, successOf } from '@glovebox/contract/routes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApp, principal, type TestApp } from '../test/kit.ts';

/** What each route is asked with: parameters that are well-formed and name nothing, and a body that it takes. */
const asked: { [Name in RouteName]: { params?: Record<string, string>; body?: unknown } } = {
  'drafts.put': { params: { id: 'some-node' }, body: { files: [{ path: 'node.json', contentBase64: 'e30=' }] } },
  'drafts.list': {},
  'drafts.get': { params: { id: 'some-node' } },
  'drafts.validate': { params: { id: 'some-node' }, body: {} },
  'nodes.list': {},
  'releases.publish': { body: { id: 'some-node' } },
  'releases.list': {},
  'releases.get': { params: { reference: 'some-node' } },
  'releases.change': { params: { reference: 'some-node@1.0.0' }, body: { state: 'revoked', reason: 'why' } },
  'releases.revalidate': { params: { reference: 'some-node' }, body: {} },
  'artifacts.attestations': { params: { reference: 'some-node' } },
  'artifacts.export': { params: { reference: 'some-node' } },
  'trials.run': {
    body: { snapshot: { files: [{ path: 'node.json', contentBase64: 'e30=' }] }, inputText: '{}', configText: '{}' },
  },
  'runs.start': { body: { reference: 'some-node', inputText: '{}', configText: '{}' } },
  'runs.list': {},
  'runs.get': { params: { run: 'run_0123456789abcdefghjkmn' } },
  'runs.logs': { params: { run: 'run_0123456789abcdefghjkmn' } },
  'runs.journal': { params: { run: 'run_0123456789abcdefghjkmn' } },
  'runs.receipt': { params: { run: 'run_0123456789abcdefghjkmn' } },
  'runs.file': { params: { run: 'run_0123456789abcdefghjkmn', name: 'file.txt' } },
  'runs.verify': { params: { run: 'run_0123456789abcdefghjkmn' }, body: {} },
  'policy.get': {},
  'policy.set': { body: { policy: {}, expectedRevision: 0 } },
  'policy.check': { body: { method: 'GET', url: 'https://api.example.com/' } },
  'egress.list': {},
  'audit.list': {},
  'audit.export': {},
  'audit.verify': { body: {} },
  'audit.checkpoints': {},
  'instance.get': {},
  'instance.health': {},
  'keys.list': {},
  'operations.cancel': { params: { operation: 'op_0123456789abcdefghjkmn' } },
};
const table = Object.entries(routes) as [RouteName, Route][];
const ofProject = table.filter(([, { path }]) => path.includes(':project'));
const withParams = table.filter(([, { path }]) => path.includes(':'));
const withBody = table.filter(([, { body }]) => body !== null);

const pathOf = (name: RouteName, over: Record<string, string> = {}): string => {
  const params: Record<string, string> = { project: 'default', ...asked[name].params, ...over };
  return routes[name].path.replace(/:(\w+)/g, (_, param: string) => params[param] ?? '');
};
const send = (test: TestApp, name: RouteName, over: Record<string, string> = {}) =>
  test.send(routes[name].method, pathOf(name, over), { body: asked[name].body });
const problemOf = async (response: Response) => problemSchema.parse(await response.json());

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp();
});
afterAll(() => test.close());

describe('every route', () => {
  it.each(table)('%s is refused to a principal that has every role but its own', async (name, { role }) => {
    const others = await openTestApp({ principal: { name: 'o', roles: roles.filter((other) => other !== role) } });
    expect(await problemOf(await send(others, name))).toMatchObject({ code: 'ROLE_MISSING', status: 403 });
    await others.close();
    const own = await openTestApp({ principal: { name: 'o', roles: [role] } });
    const response = await send(own, name);
    if (response.status !== 200) expect((await problemOf(response)).code).not.toBe('ROLE_MISSING');
    await own.close();
  });

  it.each(ofProject)('%s of another project is not found', async (name) => {
    for (const project of ['other', 'no-such', '..', '%2e%2e', 'default%2f..', 'DEFAULT', 'default%00'])
      expect({ project, ...(await problemOf(await send(test, name, { project }))) }).toMatchObject({
        code: 'NOT_FOUND',
      });
  });

  it.each(withParams)('%s is not found by a parameter that is the name of nothing', async (name, { params }) => {
    const hostile = [
      '..%2f..%2fx',
      '%00',
      'a%00b',
      '%2e%2e',
      '%',
      '%ff',
      'x'.repeat(2000),
      'a%0ab',
      "'--",
      '%u2028',
      'a%20b',
    ];
    for (const param of Object.keys(params.shape)) {
      for (const value of hostile) {
        const { code } = await problemOf(await send(test, name, { [param]: value }));
        // A reference is told to be none; everything else names nothing.
        expect({ param, value, code }).toMatchObject({
          code: expect.stringMatching(param === 'reference' ? /^(NOT_FOUND|REFERENCE_INVALID)$/ : /^NOT_FOUND$/),
        });
      }
    }
  });

  it.each(withBody)('%s refuses a body beyond its limit before it is read', async (name, route) => {
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1024));
      },
    });
    const headers = { 'content-length': String((route.body?.maxBytes ?? 0) + 1) };
    const response = await test.send(route.method, pathOf(name), { body, headers });
    expect({ pulled: pulled <= 2, ...(await problemOf(response)) }).toMatchObject({
      pulled: true,
      code: 'REQUEST_TOO_LARGE',
    });
  });

  it.each(withBody)('%s refuses what it does not know in its body, by name', async (name) => {
    const body = { ...(asked[name].body as object), unheardOf: 1 };
    const response = await test.send(routes[name].method, pathOf(name), { body });
    expect(await problemOf(response)).toMatchObject({ code: 'REQUEST_INVALID', place: { path: '/unheardOf' } });
  });

  it.each(table)('%s refuses what it does not know in its query, by name', async (name) => {
    const response = await test.send(routes[name].method, `${pathOf(name)}?unheardOf=1`, { body: asked[name].body });
    expect(await problemOf(response)).toMatchObject({ code: 'REQUEST_INVALID', place: { path: '/unheardOf' } });
  });

  it.each(table)('%s answers by its schema, or with a problem that is not ours', async (name, route) => {
    const response = await send(test, name);
    if (response.status >= 400) {
      // Without cells and packages this app cannot take a package in, nor say what runs nodes.
      const needsMore = ['drafts.put', 'trials.run', 'instance.get'].includes(name);
      expect((await problemOf(response)).code === 'INTERNAL').toBe(needsMore);
      return;
    }
    const { success } = successOf(route);
    if (success.kind === 'json') expect(success.schema.safeParse(await response.json()).error).toBeUndefined();
    else expect(response.headers.get('content-type')).toBe(success.mediaType);
  });

  it('is asked here, and the principal of the other tests has every role', () => {
    expect(Object.keys(asked).sort()).toEqual(Object.keys(routes).sort());
    expect(principal.roles).toEqual(roles);
  });
});
