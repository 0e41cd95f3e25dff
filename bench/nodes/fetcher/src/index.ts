import { defineNode } from '@glovebox/sdk';

interface Input {
  url: string;
  /** Requests one after the other before any is measured. */
  warmup: number;
  requests: number;
  /** How many are under way at a time. */
  parallel: number;
  /** Milliseconds since the epoch: nothing is measured before, so that several may begin together. */
  notBeforeMs: number;
}

/** The clock of `startedAtMs` and `endedAtMs` is that of `notBeforeMs`. */
interface Output {
  takenMs: number[];
  bytes: number;
  startedAtMs: number;
  endedAtMs: number;
}

export default defineNode<Input, object, Output>(async (ctx) => {
  const { url, warmup, requests, parallel, notBeforeMs } = ctx.input;
  const takenMs: number[] = [];
  let bytes = 0;
  const ask = async (): Promise<number> => {
    const started = performance.now();
    const response = await fetch(url);
    if (response.status !== 200) throw new Error(`the origin answers ${response.status}`);
    for await (const chunk of response.body ?? []) bytes += chunk.byteLength;
    return performance.now() - started;
  };
  for (let i = 0; i < warmup; i++) await ask();
  bytes = 0;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, notBeforeMs - Date.now())));
  const startedAtMs = Date.now();
  let left = requests;
  const askOn = async (): Promise<void> => {
    while (left-- > 0) takenMs.push(Math.round((await ask()) * 1000) / 1000);
  };
  await Promise.all(Array.from({ length: parallel }, askOn));
  return { takenMs, bytes, startedAtMs, endedAtMs: Date.now() };
});
