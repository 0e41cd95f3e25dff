import { over, round3 } from './cold-rows.ts';
import type { Row } from './report.ts';
import type { Samples } from './samples.ts';

const request = 'from the call of fetch to the last byte of 1 kB, over a connection that is kept, one after the other';

/** @param why there is no figure of Docker. */
export function addedRows(
  { direct, oci, docker }: { direct: Samples; oci: Samples; docker: Samples },
  why: string | undefined,
): Row[] {
  const base = (q: number, name: string): Row => ({
    id: `direct.${name}`,
    value: direct.percentile(q),
    unit: 'ms',
    n: direct.n,
    boundary: `${request}, in bare Node.js; ${name.slice(0, 3)}`,
    ...failuresOf(direct),
  });
  return [
    base(0.5, 'p50_ms'),
    base(0.99, 'p99_ms'),
    added('egress.added_p50_ms', { through: oci, direct }, 0.5, '; goal ≤ 1.5'),
    added('egress.added_p99_ms', { through: oci, direct }, 0.99, '; goal ≤ 6'),
    {
      ...added('egress.docker_added_p50_ms', { through: docker, direct }, 0.5),
      ...(why === undefined ? {} : { note: why }),
    },
  ];
}

function added(id: string, { through, direct }: { through: Samples; direct: Samples }, q: number, goal = ''): Row {
  const [value, base] = [through.percentile(q), direct.percentile(q)];
  const name = q === 0.5 ? 'p50' : 'p99';
  const notes = [...(value === null ? [] : [`${value} ms in all`]), ...Object.values(failuresOf(through))];
  return {
    id,
    value: value === null || base === null ? null : round3(value - base),
    unit: 'ms',
    n: through.n,
    boundary: `the same in a cell, less direct.${name}_ms of the same rounds${goal}`,
    ...(notes.length === 0 ? {} : { note: notes.join('; ') }),
  };
}

export function rateRows(
  { direct, oci }: { direct: Samples; oci: Samples },
  { cells, parallel }: { cells: number; parallel: number },
): Row[] {
  const boundary = `requests in a second, ${cells} × ${parallel} at once, from the first that began to the last that ended; p50`;
  const [base, value] = [direct.percentile(0.5), oci.percentile(0.5)];
  const ratio = over(value, base);
  return [
    {
      id: 'direct.rps',
      value: base,
      unit: '/s',
      n: direct.n,
      boundary: `${boundary}; bare Node.js`,
      ...failuresOf(direct),
    },
    {
      id: 'egress.rps',
      value,
      unit: '/s',
      n: oci.n,
      boundary: `${boundary}; cells, host and origin on the same cores; goal ≥ 2,000 on two`,
      ...(ratio === null ? {} : { ratio, vs: 'direct.rps' }),
      ...failuresOf(oci),
    },
  ];
}

/** The worse of the two. */
export function growthRow({ down, events }: { down: Samples; events: Samples }, count: number): Row {
  const [ofDown, ofEvents] = [down.percentile(0.5), events.percentile(0.5)];
  const notes = [
    `100 MB ${spread(down)}`,
    `events ${spread(events)}`,
    ...Object.values(failuresOf(down)),
    ...Object.values(failuresOf(events)),
  ];
  return {
    id: 'egress.growth_mb',
    value: ofDown === null || ofEvents === null ? null : Math.max(ofDown, ofEvents),
    unit: 'MB',
    n: down.n + events.n,
    boundary: `the most that the process of glovebox node run holds while its cell gets 100 MB, or ${count} events of 100 bytes, less the same while it gets 1 kB; no hook on the answers; the worse p50 of the two; goal ≤ 32`,
    note: notes.join('; '),
  };
}

const spread = (samples: Samples): string =>
  `${samples.percentile(0)?.toFixed(1) ?? '–'} to ${samples.percentile(1)?.toFixed(1) ?? '–'}`;

export const policyRow = (samples: Samples): Row => ({
  id: 'policy.check_us',
  value: samples.percentile(0.5),
  unit: 'µs',
  n: samples.n,
  boundary:
    'a URL read and decided on, 100 rules of a manifest under 1,000 of a policy; p50 of means of 1,000; goal ≤ 20',
  ...samples.note,
});

export const loadRow = (samples: Samples): Row => ({
  id: 'guest.fetch_load_ms',
  value: samples.percentile(0.5),
  unit: 'ms',
  n: samples.n,
  boundary:
    'boot of a cell to the whole output of a small node that declares http and asks nothing, less the same without http just before or after; p50 of the differences',
  ...samples.note,
});

const failuresOf = ({ failures, lastFailure }: Samples): { note?: string } =>
  failures === 0 ? {} : { note: `${failures} failed: ${lastFailure}` };
