import type { Row } from './report.ts';
import type { Samples } from './samples.ts';

const boundary = 'spawn or boot to the whole output at the caller; same bundle and input; p50';

/** What starts one fresh cell or container for each sample. */
export interface ColdFigure {
  /** Such as `oci`, for `oci.cold_ms`. */
  name: string;
  samples: Samples;
  /** What else is to be known of it. */
  note?: string;
  /** Of the ratio, where there is one. */
  goal?: string;
  /** Why there are no samples. */
  why?: string;
}

export const round3 = (value: number): number => Math.round(value * 1000) / 1000;

export const over = (value: number | null, base: number | null): number | null =>
  value === null || base === null || base === 0 ? null : round3(value / base);

export const bareRow = (samples: Samples): Row => ({
  id: 'nodejs.cold_ms',
  value: samples.percentile(0.5),
  unit: 'ms',
  n: samples.n,
  boundary,
  ...samples.note,
});

/** A cold start in milliseconds, and over that of bare Node.js in the same rounds. */
export function coldRows({ name, samples, note, goal, why }: ColdFigure, bare: Samples): Row[] {
  const [value, base] = [samples.percentile(0.5), bare.percentile(0.5)];
  const ratio = over(value, base);
  const notes = [why, why === undefined ? samples.note.note : undefined, note].filter((text) => text !== undefined);
  const noted = notes.length === 0 ? {} : { note: notes.join('; ') };
  const ms: Row = {
    id: `${name}.cold_ms`,
    value,
    unit: 'ms',
    n: samples.n,
    boundary: name === 'dockerrun' ? boundary : `${boundary}; without build, store and receipt`,
    ...(ratio === null ? {} : { ratio, vs: 'nodejs.cold_ms' }),
    ...noted,
  };
  const over_: Row = {
    id: `${name}.cold_ratio`,
    value: ratio,
    unit: '×',
    n: samples.n,
    boundary: `${name}.cold_ms over nodejs.cold_ms, same rounds${goal === undefined ? '' : `; goal ${goal}`}`,
    ...(ratio === null ? noted : {}),
  };
  return [ms, over_];
}
