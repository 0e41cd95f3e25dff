import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allowedNames, seccompOf } from '@glovebox/cell';
import { type CellRole, cellPlanSchema } from '@glovebox/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RoleTraces, traceAllRoles } from '../support/trace-all-roles.ts';
import { loadNames } from '../support/trace-load.ts';
import { beyondTrace, expectedRefusals, headroom } from '../support/trace-names.ts';
import { needs, withoutCall } from '../support/trace-needs.ts';

const runtimes = ['crun', 'runc'] as const;
const roles = cellPlanSchema.shape.role.options;
const dir = mkdtempSync(join(tmpdir(), 'glovebox-trace-'));
const traced = new Map<string, RoleTraces>();
beforeAll(async () => {
  for (const runtime of runtimes) traced.set(runtime, await traceAllRoles(join(dir, runtime), runtime));
}, 10 * 60_000);
afterAll(() => rmSync(dir, { recursive: true }));

/** With conditional names: on the list under some condition is on the list. */
const listOf = (role: CellRole): string[] => {
  const list = seccompOf(role);
  return [...allowedNames('x64', list), ...list.conditional.flatMap(({ names }) => names)];
};
const cellsOf = (...wanted: CellRole[]) =>
  [...traced.values()].flatMap(({ cells }) => cells).filter(({ role }) => wanted.includes(role));
const madeBy = (...wanted: CellRole[]): Set<string> =>
  new Set(cellsOf(...wanted).flatMap(({ runtime, guest }) => [...runtime.made, ...guest.made]));

describe.each(runtimes)('cells of every role, traced under %s,', (runtime) => {
  it('did their work', () => {
    const { cells, outcomes } = traced.get(runtime) as RoleTraces;
    expect(outcomes).toEqual({
      load: { done: loadNames, failed: {} },
      types: 'passed',
      tests: 'passed',
      probe: [],
      runtime: expect.stringContaining(runtime),
      shim: '',
    });
    expect(new Set(cells.map(({ role }) => role))).toEqual(new Set(roles));
  });

  it.each(roles)('make no call that is not on the list of a %s cell', (role) => {
    const names = listOf(role);
    const { cells } = traced.get(runtime) as RoleTraces;
    const made = cells
      .filter((cell) => cell.role === role)
      .flatMap((cell) => [...cell.runtime.made, ...cell.guest.made]);
    expect(made.length).toBeGreaterThan(40);
    expect(made.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('are refused nothing but what is known to be tried in vain', () => {
    const { cells } = traced.get(runtime) as RoleTraces;
    // A probe tries everything.
    const refused = cells
      .filter(({ role }) => role !== 'probe')
      .flatMap(({ runtime: own, guest }) => [...own.refused, ...guest.refused]);
    expect(refused.filter((name) => !Object.hasOwn(expectedRefusals, name))).toEqual([]);
  });
});

describe('the list', () => {
  it('has no name beyond the trace but those of which it is said why, and few that no test shows to be needed', () => {
    const made = madeBy(...roles);
    const beyond = [...new Set(roles.flatMap(listOf))].filter((name) => !made.has(name)).sort();
    expect(beyond).toEqual(beyondTrace.map(({ name }) => name).sort());
    expect(beyondTrace.filter(({ need }) => need === undefined).length).toBeLessThanOrEqual(headroom);
    expect(beyondTrace.filter(({ reason }) => reason.length < 10)).toEqual([]);
  });

  it('expects no refusal that no cell runs into', () => {
    const refused = new Set(cellsOf('run', 'tests', 'bundle', 'types').flatMap(({ guest }) => [...guest.refused]));
    expect(Object.keys(expectedRefusals).filter((name) => !refused.has(name))).toEqual([]);
  });

  it('of a role has no name more than that of a run cell that its own work does not take', () => {
    const common = listOf('run');
    for (const role of roles) {
      const more = listOf(role).filter((name) => !common.includes(name));
      const made = madeBy(...(role === 'bundle' || role === 'types' ? (['bundle', 'types'] as const) : [role]));
      expect({ role, unused: more.filter((name) => !made.has(name)) }).toEqual({ role, unused: [] });
    }
  });
});

describe('a name that a test shows to be needed', () => {
  const needed = beyondTrace.flatMap(({ name, need }) => (need === undefined ? [] : [{ name, ...need }]));

  it.each(needed)('$name: the test is there', ({ file, test }) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(`it('${test}'`);
  });

  it.each(needed)('$name: with it what the test does goes well, and without it it does not', async ({ name }) => {
    const need = needs[name] as (typeof needs)[string];
    expect(await need((spec) => spec)).toBe(true);
    expect(await need(withoutCall(name)).catch(() => false)).toBe(false);
  });
});
