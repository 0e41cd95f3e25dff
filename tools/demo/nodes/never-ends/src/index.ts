import { constants } from 'node:os';
import { defineNode } from '@glovebox/sdk';

export default defineNode<object, object, object>(async (ctx) => {
  for (const signal of Object.keys(constants.signals)) {
    try {
      process.on(signal as NodeJS.Signals, () => undefined);
    } catch {
      // SIGKILL and SIGSTOP cannot be handled, which is the point.
    }
  }
  ctx.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
  globalThis.clearTimeout = () => undefined;
  process.exit = (() => undefined) as never;
  process.abort = (() => undefined) as never;
  ctx.log.info('looping');
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (let i = 0; ; i = (i + 1) | 0) if (i === Number.POSITIVE_INFINITY) return {};
});
