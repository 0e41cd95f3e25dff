import { type CellPlan, cellPlanSchema, GloveboxError, idPatterns } from '@glovebox/contract';

/** A cell of this id may still be on the host, and would share a name with a new one, and its end. */
export const idInUse = (): GloveboxError =>
  new GloveboxError('PLAN_REFUSED', { message: 'The cell id is that of a cell that is not confirmed dead.' });

/**
 * What every driver checks of a dispatch.
 *
 * @param isFirst whether the cell was not dispatched yet.
 * @throws GloveboxError `PLAN_REFUSED`; `INTERNAL` for a second one.
 */
export function checkDispatch(
  { limits }: CellPlan,
  asked: { cpu: number; deadlineMs: number },
  isFirst: boolean,
): void {
  if (!isFirst) throw new GloveboxError('INTERNAL', { message: 'A cell is dispatched once.' });
  if (!(asked.cpu > 0 && asked.cpu <= limits.cpu) || !(asked.deadlineMs > 0)) {
    throw new GloveboxError('PLAN_REFUSED', { message: 'A dispatch cannot give more than the plan.' });
  }
}

/**
 * What every driver checks by itself, whatever the caller says it has checked. The id becomes a path segment.
 *
 * @throws GloveboxError `PLAN_REFUSED`.
 */
export function checkPlan(unsafePlan: unknown, unsafeId: unknown): CellPlan {
  const parsed = cellPlanSchema.safeParse(unsafePlan);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new GloveboxError('PLAN_REFUSED', {
      message: `The plan is refused at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`,
    });
  }
  if (typeof unsafeId !== 'string' || !idPatterns.cell.test(unsafeId)) {
    throw new GloveboxError('PLAN_REFUSED', { message: 'The cell id is not one.' });
  }
  return parsed.data;
}
