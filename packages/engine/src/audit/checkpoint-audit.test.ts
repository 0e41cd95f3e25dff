import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestRecords, putDraft, type TestRecords } from '../../../../test/support/release-records.ts';
import { checkpointWhenDue } from './checkpoint-audit.ts';

let records: TestRecords;
beforeEach(async () => {
  records = await openTestRecords();
});
afterEach(() => records.close());

const signed = async (): Promise<number[]> => (await records.audit.checkpoints()).map(({ seq }) => seq);

it('is made by whoever adds the thousandth entry since the last one, and by nobody before', async () => {
  let entries = 0;
  const add = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await putDraft(records, { salt: String(entries++) });
    await checkpointWhenDue(records);
  };
  await add(999);
  expect(await signed()).toEqual([]);
  await add(1);
  expect(await signed()).toEqual([1000]);
  await add(3);
  expect(await signed()).toEqual([1000]);
});
