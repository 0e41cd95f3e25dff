import { GloveboxError } from '@glovebox/contract';
import type { CellDriver, SweepReport } from './driver.ts';

export interface SweeperOptions {
  /** From the end of one sweep to the begin of the next. */
  everyMs: number;
  /** Told of each sweep that came to its end. Must not throw. */
  onReport?(report: SweepReport): void;
  /** Told of each that did not; the next one comes all the same. Must not throw. */
  onFailure(error: GloveboxError): void;
}

export interface Sweeper {
  /** Sweep now, or share the sweep that is under way. @throws what the driver throws. */
  sweep(): Promise<SweepReport>;
  /** No sweep begins any more. Resolves when the one under way is over. */
  stop(): Promise<void>;
}

/**
 * Sweep what dead owners leave, time after time, for a process that lives long: others die while it works. Two sweeps never
 * run at once, however long one takes. It keeps no process alive. The first one comes after `everyMs`: whoever starts
 * sweeps first, and acts on its failure.
 */
export function startSweeper(driver: Pick<CellDriver, 'sweep'>, options: SweeperOptions): Sweeper {
  let underWay: Promise<SweepReport> | undefined;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  const wait = (): void => {
    if (!stopped) timer = setTimeout(round, options.everyMs).unref();
  };
  const sweep = (): Promise<SweepReport> => {
    // A driver may throw instead of rejecting.
    underWay ??= Promise.resolve()
      .then(() => driver.sweep())
      .finally(() => {
        underWay = undefined;
      });
    return underWay;
  };
  const round = async (): Promise<void> => {
    try {
      const report = await sweep();
      options.onReport?.(report);
    } catch (thrown) {
      options.onFailure(asError(thrown));
    } finally {
      wait();
    }
  };
  wait();
  return {
    sweep: () =>
      stopped ? Promise.reject(new GloveboxError('INTERNAL', { message: 'No sweep after the end.' })) : sweep(),
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await underWay?.catch(() => undefined);
    },
  };
}

const asError = (thrown: unknown): GloveboxError =>
  thrown instanceof GloveboxError
    ? thrown
    : new GloveboxError('INTERNAL', { message: `A sweep failed: ${String(thrown)}`, cause: thrown });
