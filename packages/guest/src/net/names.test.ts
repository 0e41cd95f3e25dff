import { egressAnswerHeader, egressReasons, egressRequestHeaders, errorCatalogue } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { answerHeader, codeOfReason, isEgressCode, requestHeaders } from './names.ts';

it('has the words of the contract', () => {
  expect([answerHeader, requestHeaders]).toEqual([egressAnswerHeader, egressRequestHeaders]);
});

it('knows a code for every reason, and takes what is none for a lost connection', () => {
  for (const reason of egressReasons) {
    const known = codeOfReason(reason);
    expect(known.reason).toBe(reason);
    expect(isEgressCode(known.code)).toBe(true);
    expect(errorCatalogue).toHaveProperty(known.code);
  }
  expect(codeOfReason('for people')).toEqual({ code: 'EGRESS_FAILED', reason: 'CONNECTION_LOST' });
});
