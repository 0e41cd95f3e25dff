import { expect, it } from 'vitest';
import * as artifact from './index.ts';

it('exports these values and no others', () => {
  expect(Object.keys(artifact).sort()).toEqual([
    'auditChainStart',
    'auditEntryHash',
    'canonicalJson',
    'compareReceipt',
    'maxReceiptBytes',
    'openInstance',
    'permissionsDigest',
    'permissionsOf',
    'readPublicKey',
    'sha256Of',
    'signReceipt',
    'verifyReceipt',
  ]);
});
