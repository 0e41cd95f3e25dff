import { defineNode, NodeError } from '@glovebox/sdk';
import { CsvError, parse } from 'csv-parse/sync';
import { type ColumnProfile, profileColumn } from './profile.ts';

interface Input {
  csv: string;
  delimiter?: string;
}

interface Config {
  topValues?: number;
  nullTokens?: string[];
}

interface Output {
  rows: number;
  columns: ColumnProfile[];
}

export default defineNode<Input, Config, Output>(async (ctx) => {
  const { csv, delimiter = ',' } = ctx.input;
  const { topValues = 5, nullTokens = ['', 'NA', 'N/A', 'null'] } = ctx.config;
  const [header = [], ...rows] = readRows(csv, delimiter);
  ctx.log.info('parsed', { rows: rows.length, columns: header.length });
  const nulls = new Set(nullTokens);
  const columns: ColumnProfile[] = [];
  for (const [i, name] of header.entries()) {
    columns.push(
      profileColumn(
        name,
        rows.map((row) => row[i] ?? ''),
        { nulls, topValues },
      ),
    );
    ctx.progress({ fraction: (i + 1) / header.length, message: name });
  }
  await ctx.files.write('profile.md', markdown(rows.length, columns), 'text/markdown');
  return { rows: rows.length, columns };
});

function readRows(csv: string, delimiter: string): string[][] {
  try {
    return parse(csv, { delimiter, bom: true, skip_empty_lines: true, relax_quotes: false });
  } catch (error) {
    if (error instanceof CsvError) throw new NodeError('CSV_MALFORMED', error.message);
    throw error;
  }
}

function markdown(rows: number, columns: ColumnProfile[]): string {
  const line = ({ name, type, nulls, distinct, quantiles }: ColumnProfile): string =>
    `| ${name.replaceAll('|', '\\|')} | ${type} | ${nulls} | ${distinct} | ${quantiles ? quantiles.p50 : ''} |`;
  return `# Profile of ${rows} rows\n\n| column | type | nulls | distinct | median |\n|---|---|---|---|---|\n${columns.map(line).join('\n')}\n`;
}
