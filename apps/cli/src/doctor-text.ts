import type { CellGauges, HostFact, HostReport } from '@glovebox/cell';
import { indented, paint } from './output.ts';

const marks = {
  'in-force': ['green', '✓'],
  missing: ['red', '✗'],
  degraded: ['yellow', '!'],
  unknown: ['yellow', '?'],
} as const;

export interface Diagnosis {
  usable: boolean;
  /** What is configured, with the facts of the data directory. */
  configured: HostReport;
  /** What could be had besides. */
  others: readonly HostReport[];
  gauges: CellGauges | null;
  /** Accepted ones, each with what it means. */
  risks: readonly string[];
}

/** The whole of what is configured; of the rest whether it could be used, and what is in the way. */
export function doctorText({ usable, configured, others, gauges, risks }: Diagnosis): string {
  return [
    `driver ${configured.driver}, class ${configured.class}\n${factLines(configured.facts)}`,
    ...others.map(otherText),
    ...(gauges === null ? [] : [`on this host now: ${gaugesText(gauges)}`]),
    ...(risks.length === 0 ? [] : [`accepted risks\n${risks.map((risk) => `  ${risk}`).join('\n')}`]),
    usable ? paint('green', 'This host can run cells.') : paint('red', 'This host cannot run cells.'),
  ].join('\n\n');
}

function otherText({ driver, class: cellClass, usable, facts }: HostReport): string {
  const name = `besides: driver ${driver}, class ${cellClass}`;
  if (usable) return `${name} can be used`;
  return `${name} cannot be used\n${factLines(facts.filter(({ required, state }) => required && state === 'missing'))}`;
}

function gaugesText({ cells, processes, cgroups, mounts, namespaces, directories, uidClaims }: CellGauges): string {
  const held = { processes, cgroups, mounts, namespaces, directories, 'uid claims': uidClaims };
  const text = Object.entries(held).filter(([, count]) => count > 0);
  return `${cells} cells${text.map(([what, count]) => `, ${count} ${what}`).join('')}`;
}

function factLines(facts: readonly HostFact[]): string {
  const unknown = facts.filter(({ state }) => state === 'unknown');
  const known = facts.filter(({ state }) => state !== 'unknown');
  const width = Math.max(0, ...known.map(({ name }) => name.length));
  const indent = ' '.repeat(width + 6);
  const lines = known.map(({ name, required, state, detail, hint }) => {
    const [color, mark] = marks[state === 'missing' && !required ? 'degraded' : state];
    const line = `  ${paint(color, mark)} ${name.padEnd(width)}  ${indented(detail, indent)}`;
    if (hint === undefined || state === 'in-force') return line;
    return `${line}\n${indent}${paint('cyan', 'hint')}: ${indented(hint, indent)}`;
  });
  if (unknown.length === 0) return lines.join('\n');
  const [color, mark] = marks.unknown;
  const names = unknown.map(({ name }) => name).join(', ');
  return [...lines, `  ${paint(color, mark)} not probed yet: ${names}`].join('\n');
}
