import { floor, monotonicMs, PlainProxy } from '../harness/primordials.ts';

/** What is used of `Temporal`, which Node's types do not have. */
interface TemporalNow {
  Instant: { fromEpochMilliseconds(ms: number): TemporalInstant };
  Now: object;
}
interface TemporalInstant {
  toZonedDateTimeISO(zone: unknown): TemporalZoned;
}
interface TemporalZoned {
  toPlainDateTime(): unknown;
  toPlainDate(): unknown;
  toPlainTime(): unknown;
}

/**
 * Let the clock of the day show `startMs` now and go on from there at its pace, for `Date`, `Temporal`, `Intl` and
 * `performance.timeOrigin`.
 *
 * Times of files, and realms of `node:vm`, stay the host's. Timers and monotonic clocks have no date and stay as they are.
 */
export function startClock(startMs: number): void {
  const begunMs = monotonicMs();
  const now = (): number => startMs + floor(monotonicMs() - begunMs);
  replaceDate(now);
  replaceTemporal(now);
  replaceDefaultDates(now);
  replace(performance, 'timeOrigin', startMs - performance.now());
}

/** A proxy, so that `instanceof Date`, `Date.prototype` and `class extends Date` stay what they are. */
function replaceDate(now: () => number): void {
  const RealDate = Date;
  const construct = Reflect.construct as (target: object, args: unknown[], newTarget: object) => object;
  const fixed = new PlainProxy(RealDate, {
    construct: (target, args: unknown[], newTarget) => construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
  });
  replace(RealDate, 'now', { now }.now);
  replace(RealDate.prototype, 'constructor', fixed);
  replace(globalThis, 'Date', fixed);
}

function replaceTemporal(now: () => number): void {
  const { Temporal } = globalThis as unknown as { Temporal?: TemporalNow };
  if (Temporal === undefined) return;
  const { Instant, Now } = Temporal;
  const instant = (): TemporalInstant => Instant.fromEpochMilliseconds(now());
  const zoned = (zone: unknown = 'UTC'): TemporalZoned => instant().toZonedDateTimeISO(zone);
  replace(Now, 'instant', instant);
  replace(Now, 'zonedDateTimeISO', zoned);
  replace(Now, 'plainDateTimeISO', (zone?: unknown) => zoned(zone).toPlainDateTime());
  replace(Now, 'plainDateISO', (zone?: unknown) => zoned(zone).toPlainDate());
  replace(Now, 'plainTimeISO', (zone?: unknown) => zoned(zone).toPlainTime());
}

/** `Intl.DateTimeFormat` formats the present where it is given no date. */
function replaceDefaultDates(now: () => number): void {
  const { prototype } = Intl.DateTimeFormat;
  const format = Object.getOwnPropertyDescriptor(prototype, 'format')?.get as (
    this: Intl.DateTimeFormat,
  ) => (date: unknown) => string;
  const { formatToParts } = prototype;
  Object.defineProperty(prototype, 'format', {
    configurable: true,
    get(this: Intl.DateTimeFormat) {
      const bound = format.call(this);
      return (date?: unknown) => bound(date === undefined ? now() : date);
    },
  });
  replace(prototype, 'formatToParts', function (this: Intl.DateTimeFormat, date?: Date | number) {
    return formatToParts.call(this, date === undefined ? now() : date);
  });
}

function replace(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { configurable: true, writable: true, enumerable: false, value });
}
