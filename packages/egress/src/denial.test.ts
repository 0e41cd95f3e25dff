import { egressReasons } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { denialProblem, refusal } from './denial.ts';

it('a denial is told with its code, reason, rule, patch, approver and a hint, and nothing of the request', () => {
  expect(
    denialProblem({ reason: 'PATH_NOT_DECLARED', rule: null, patch: { rules: [] }, approver: 'approver' }),
  ).toEqual({
    code: 'EGRESS_DENIED',
    reason: 'PATH_NOT_DECLARED',
    rule: null,
    patch: { rules: [] },
    approver: 'approver',
    hint: expect.stringContaining('capabilities.http'),
  });
});

it('every reason has a hint', () => {
  for (const reason of egressReasons) {
    expect(denialProblem({ reason, rule: null, patch: null, approver: 'nobody' }).hint).toMatch(/^[A-Z].*\.$/);
  }
});

it('a refusal is for the author to mend', () => {
  expect(refusal('URL_REFUSED')).toEqual({
    kind: 'denied',
    reason: 'URL_REFUSED',
    rule: null,
    patch: null,
    approver: 'author',
  });
});
