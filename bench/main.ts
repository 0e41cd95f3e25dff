import { parseArgs } from 'node:util';
import { printTable } from './src/report.ts';

const benches: Record<
  string,
  () => Promise<{ measure: (quick: boolean, say: (line: string) => void) => Promise<Parameters<typeof printTable>[0]> }>
> = {
  run: () => import('./src/run.ts'),
  publish: () => import('./src/publish.ts'),
  egress: () => import('./src/egress.ts'),
};

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
});
const name = positionals[0];
const load = name === undefined ? undefined : benches[name];
if (values.help || load === undefined) {
  process.stderr.write(`Usage: npm run bench -- <${Object.keys(benches).join('|')}> [--json] [--quick]\n`);
  process.exitCode = values.help ? 0 : 2;
} else {
  const { measure } = await load();
  const result = await measure(values.quick === true, (line) => process.stderr.write(`${line}\n`));
  process.stdout.write(`${values.json ? JSON.stringify(result) : printTable(result)}\n`);
}
