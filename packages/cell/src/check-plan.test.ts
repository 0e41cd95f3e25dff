import { cellPlanSchema, type Digest, newCellId, planCeilings } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { checkPlan } from './check-plan.ts';
import { planRunCell } from './plan.ts';

const plan = planRunCell(
  `sha256:${'0'.repeat(64)}` as Digest,
  {
    cpu: 1,
    memoryBytes: 64 * 1024 * 1024,
    pids: 64,
    timeoutMs: 30_000,
    outputBytes: 1024,
    logBytes: 1024,
    filesBytes: 0,
    filesCount: 0,
    scratchBytes: 1024 * 1024,
  },
  'ns',
);
const id = newCellId();
const refused = expect.objectContaining({ code: 'PLAN_REFUSED' });
const withLimit = (name: string, value: unknown) => ({ ...plan, limits: { ...plan.limits, [name]: value } });

describe('a plan', () => {
  it('is taken as it is, with the id of a cell', () => {
    expect(checkPlan(plan, id)).toEqual(plan);
  });

  const ceilings = { ...planCeilings, bootCpu: planCeilings.cpu };
  it.each(Object.entries(ceilings))('is taken at the ceiling of %s, and refused one above it', (name, ceiling) => {
    expect(checkPlan(withLimit(name, ceiling), id).limits).toMatchObject({ [name]: ceiling });
    expect(() => checkPlan(withLimit(name, ceiling + 1), id)).toThrow(refused);
  });

  it('has a ceiling for each of its limits', () => {
    expect(Object.keys(ceilings).sort()).toEqual(Object.keys(cellPlanSchema.shape.limits.shape).sort());
  });

  it.each(Object.keys(ceilings))('is refused with a %s that is no number, or none at all', (name) => {
    for (const value of [-1, 0, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined])
      expect(() => checkPlan(withLimit(name, value), id)).toThrow(refused);
  });

  it('is refused with a word that no plan has', () => {
    for (const unsafePlan of [
      { ...plan, mounts: ['/:/host'] },
      { ...plan, privileged: true },
      withLimit('devices', ['/dev/kvm']),
    ])
      expect(() => checkPlan(unsafePlan, id)).toThrow(refused);
  });

  it.each([
    ['another schema', { ...plan, schema: 'glovebox.cell-plan/2' }],
    ['a role that there is not', { ...plan, role: 'host' }],
    ['a class that there is not', { ...plan, class: 'none' }],
    ['an image by name', { ...plan, image: 'latest' }],
    ['an image that is a path', { ...plan, image: `sha256:../${'0'.repeat(61)}` }],
    ['nothing', null],
  ])('is refused with %s', (_, unsafePlan) => {
    expect(() => checkPlan(unsafePlan, id)).toThrow(refused);
  });
});

describe('a cell id', () => {
  it.each(['', '../../etc', `${id}/..`, `${id}\0`, `${id}\n`, id.toUpperCase(), `x${id}`, 7, null, undefined])(
    'is refused that is %j',
    (unsafeId) => {
      expect(() => checkPlan(plan, unsafeId)).toThrow(refused);
    },
  );
});
