import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPackageSource } from '@glovebox/registry-npm';
import { describe, expect, it, vi } from 'vitest';
import { useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const repository = fileURLToPath(new URL('../..', import.meta.url));
const examples = join(repository, 'examples');
const data = (name: string): string => join(repository, 'node_modules/vega-datasets', name);
const names = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const fixtures = names.flatMap((name) =>
  readdirSync(join(examples, name, 'fixtures'))
    .filter((file) => !file.endsWith('.cassette.json'))
    .map((file) => [name, file.replace(/\.json$/, '')] as const),
);

const cli = useCli();

/** Run an example on input given by a file. @returns its output. */
async function outputOf<T>(example: string, args: string[]): Promise<{ run: string; output: T }> {
  const { code, stdout, stderr, json } = await cli().run([
    'node',
    'run',
    join(examples, example),
    '--trial',
    '--json',
    ...args,
  ]);
  if (code !== 0) throw new Error(`it ended with ${code}: ${stdout}${stderr}`);
  return json() as unknown as { run: string; output: T };
}

describe.concurrent('the examples', () => {
  it.each(fixtures)('%s does what its fixture %s says', async (name, fixture) => {
    const { code, stderr } = await cli().run(['node', 'run', join(examples, name), '--trial', '--fixture', fixture]);
    expect({ code, said: stderr.split('\n').at(-2) }).toEqual({ code: 0, said: `fixture ${fixture}: as expected` });
  });

  it.each(names)(
    '%s passes its own tests, once what git ignores is written and its packages are there',
    async (name) => {
      const dir = join(cli().dir, name);
      cpSync(join(examples, name), dir, {
        recursive: true,
        filter: (path) => !/\/(node_modules|\.glovebox)(\/|$)/.test(path),
      });
      expect((await cli().run(['node', 'refresh', dir])).code).toBe(0);
      await installLocked(dir);
      const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap'], {
        cwd: dir,
        env: { PATH: process.env.PATH },
        encoding: 'utf8',
      });
      const count = (what: string): number => Number(new RegExp(`^# ${what} (\\d+)`, 'm').exec(stdout)?.[1]);
      expect({ status, failed: count('fail'), stdout: status === 0 ? '' : stdout }).toEqual({
        status: 0,
        failed: 0,
        stdout: '',
      });
      expect(count('pass')).toBeGreaterThanOrEqual(2);
    },
  );
});

interface Profile {
  rows: number;
  columns: {
    name: string;
    type: string;
    nulls: number;
    distinct: number;
    min?: number;
    max?: number;
    mean?: number;
    quantiles?: Record<string, number>;
    top: { value: string; count: number }[];
  }[];
}

describe.concurrent('csv-profile', () => {
  const profile = async (
    file: string,
  ): Promise<{ run: string; output: Profile; column: (name: string) => Profile['columns'][number] }> => {
    const { run, output } = await outputOf<Profile>('csv-profile', ['--input-text', `csv=@${data(`data/${file}`)}`]);
    return {
      run,
      output,
      column: (name) => {
        const found = output.columns.find((column) => column.name === name);
        if (found === undefined) throw new Error(`no column ${name}`);
        return found;
      },
    };
  };
  const linesOf = (file: string): string[] =>
    readFileSync(data(`data/${file}`), 'utf8')
      .trimEnd()
      .split(/\r?\n/)
      .slice(1);

  it('profiles 3,376 airports as they are', async () => {
    const lines = linesOf('airports.csv');
    const { run, output, column } = await profile('airports.csv');
    expect(output.rows).toBe(lines.length);
    expect(output.columns.map(({ name, type }) => [name, type])).toEqual([
      ['iata', 'string'],
      ['name', 'string'],
      ['city', 'string'],
      ['state', 'string'],
      ['country', 'string'],
      ['latitude', 'number'],
      ['longitude', 'number'],
    ]);
    // Counted from the end of a line: names of cities may hold commas, numbers do not.
    const latitudes = lines.map((line) => Number(line.split(',').at(-2))).sort((a, b) => a - b);
    const middle = latitudes.length / 2;
    const median = ((latitudes[middle - 1] as number) + (latitudes[middle] as number)) / 2;
    expect(latitudes.length % 2).toBe(0);
    expect(column('latitude').quantiles?.p50).toBeCloseTo(median, 9);
    expect(column('latitude').min).toBe(latitudes[0]);
    expect(column('latitude').max).toBe(latitudes.at(-1));
    expect(column('latitude').mean).toBeCloseTo(latitudes.reduce((sum, x) => sum + x, 0) / latitudes.length, 9);
    expect(column('iata')).toMatchObject({ nulls: 0, distinct: new Set(lines.map((line) => line.split(',')[0])).size });
    const states = lines.map((line) => line.split(',').at(-4) as string);
    const isNull = (state: string): boolean => ['', 'NA', 'N/A', 'null'].includes(state);
    expect(column('state').nulls).toBe(states.filter(isNull).length);
    expect(column('state').top).toEqual(
      topOf(
        states.filter((state) => !isNull(state)),
        5,
      ),
    );
    const markdown = await cli().run(['run', 'file', run, 'profile.md']);
    expect(markdown.stdout).toMatch(/^# Profile of 3376 rows\n/);
    expect(markdown.stdout).toContain(
      `| latitude | number | 0 | ${column('latitude').distinct} | ${column('latitude').quantiles?.p50} |`,
    );
  });

  it('profiles four years of weather as they are', async () => {
    const rows = linesOf('seattle-weather.csv').map((line) => line.split(','));
    const { output, column } = await profile('seattle-weather.csv');
    expect(output.rows).toBe(rows.length);
    expect(output.columns.map(({ name, type }) => [name, type])).toEqual([
      ['date', 'date'],
      ['precipitation', 'number'],
      ['temp_max', 'number'],
      ['temp_min', 'number'],
      ['wind', 'number'],
      ['weather', 'string'],
    ]);
    expect(column('date').distinct).toBe(rows.length);
    expect(column('weather').top).toEqual(
      topOf(
        rows.map((row) => row[5] as string),
        5,
      ),
    );
    const hottest = rows.map((row) => Number(row[2]));
    expect(column('temp_max')).toMatchObject({ min: Math.min(...hottest), max: Math.max(...hottest), nulls: 0 });
  });
});

describe.concurrent('geo-nearest', () => {
  it('finds the airports nearest to each state capital, as a comparison of all with all does', async () => {
    const places = readFileSync(data('data/airports.csv'), 'utf8')
      .trimEnd()
      .split(/\r?\n/)
      .slice(1)
      .map((line) => line.split(','))
      .map((fields) => ({
        id: fields[0] as string,
        latitude: Number(fields.at(-2)),
        longitude: Number(fields.at(-1)),
      }));
    const capitals = JSON.parse(readFileSync(data('data/us-state-capitals.json'), 'utf8')) as {
      lat: number;
      lon: number;
    }[];
    const points = capitals.map(({ lat, lon }) => ({ latitude: lat, longitude: lon }));
    const file = join(cli().dir, 'nearest.json');
    writeFileSync(file, JSON.stringify({ places, points }));
    const { output } = await outputOf<{ matches: { id: string; km: number }[][] }>('geo-nearest', [
      '--input',
      `@${file}`,
      '--config',
      '{"count":3}',
    ]);
    expect(output.matches).toHaveLength(points.length);
    expect(points.length).toBe(50);
    for (const [i, point] of points.entries()) {
      const expected = places
        .map((place) => ({ id: place.id, km: kilometres(point, place) }))
        .sort((a, b) => a.km - b.km)
        .slice(0, 3);
      const found = output.matches[i] ?? [];
      expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
      for (const [j, { km }] of found.entries()) expect(km).toBeCloseTo(expected[j]?.km ?? Number.NaN, 1);
    }
  });
});

describe.concurrent('markdown-to-html', () => {
  it.each(['vega-datasets/README.md', 'yaml/README.md', 'fast-check/README.md'])(
    'renders %s, with every heading and no markup of its own',
    async (path) => {
      const markdown = readFileSync(join(repository, 'node_modules', path), 'utf8');
      const { output } = await outputOf<{ html: string; headings: { level: number; text: string }[] }>(
        'markdown-to-html',
        ['--input-text', `markdown=@${join(repository, 'node_modules', path)}`],
      );
      const written = headingsOf(markdown);
      expect(written.length).toBeGreaterThan(0);
      for (const heading of written) expect(output.headings).toContainEqual(heading);
      for (const level of [1, 2, 3])
        expect(output.html.split(`<h${level}>`).length - 1).toBe(
          output.headings.filter((heading) => heading.level === level).length,
        );
      // Every code block, and none of the raw HTML that a README may hold.
      const fences = markdown.match(/^\s*(```|~~~)/gm) ?? [];
      expect(output.html.split('<pre>').length - 1).toBeGreaterThanOrEqual(Math.floor(fences.length / 2));
      expect(output.html).not.toMatch(/<(script|iframe|div|picture)[\s>]/);
    },
  );
});

/** Lines that begin with hashes, outside of code. */
function headingsOf(markdown: string): { level: number; text: string }[] {
  const found: { level: number; text: string }[] = [];
  let isCode = false;
  for (const line of markdown.split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    const match = /^(#{1,6}) +(.*?)(?: +#+)? *$/.exec(line.replace(/\r$/, ''));
    if (!isCode && match) found.push({ level: match[1]?.length ?? 0, text: match[2] ?? '' });
  }
  return found;
}

function topOf(values: string[], count: number): { value: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, times]) => ({ value, count: times }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, count);
}

interface Point {
  latitude: number;
  longitude: number;
}

/** On a sphere, by the haversine formula. */
function kilometres(a: Point, b: Point): number {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const h =
    Math.sin(radians(b.latitude - a.latitude) / 2) ** 2 +
    Math.cos(radians(a.latitude)) *
      Math.cos(radians(b.latitude)) *
      Math.sin(radians(b.longitude - a.longitude) / 2) ** 2;
  return 2 * 6371 * Math.asin(Math.sqrt(h));
}

/** What `npm ci --ignore-scripts` does, with the product's own package source. */
async function installLocked(dir: string): Promise<void> {
  const lock = JSON.parse(readFileSync(join(dir, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const source = createPackageSource({
    cacheDir: join(cli().dataDir, 'cache', 'packages'),
    ...(process.env.npm_config_registry === undefined ? {} : { registry: process.env.npm_config_registry }),
    ...(process.env.GLOVEBOX_EXTRA_CA === undefined ? {} : { caFile: process.env.GLOVEBOX_EXTRA_CA }),
  });
  for (const [path, { version, integrity }] of Object.entries(lock.packages)) {
    if (path === '') continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const target = join(dir, path);
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xz', '--strip-components=1', '-C', target], {
      input: await source.tarball({ name, version, integrity }),
    });
  }
}
