import type { Json, Report, ReportFinding } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { reportToSarif } from './sarif.ts';

const finding = (more: Partial<ReportFinding>): ReportFinding => ({
  rule: 'TYPES_FAILED',
  severity: 'error',
  check: 'types',
  file: 'src/index.ts',
  path: null,
  line: 3,
  column: 7,
  message: 'm',
  hint: 'h',
  ...more,
});

function sarif(...findings: ReportFinding[]): { [key: string]: Json } {
  const report: Report = {
    schema: 'glovebox.report/1',
    project: 'default',
    id: 'sample-node',
    version: '1.0.0',
    revision: `sha256:${'0'.repeat(64)}`,
    valid: findings.length === 0,
    checks: [{ id: 'types', state: 'failed', durationMs: 1, cached: false, findings: findings.length, facts: {} }],
    findings,
    toolchain: ['node@26.12.1'],
  };
  return JSON.parse(JSON.stringify(reportToSarif(report))) as { [key: string]: Json };
}

const run = (log: { [key: string]: Json }) => (log.runs as { [key: string]: Json }[])[0] as { [key: string]: Json };

describe('a report as SARIF', () => {
  it('has what the standard requires of a log, a run, a driver and a result (2.1.0, sections 3.13 to 3.27)', () => {
    const log = sarif(finding({}), finding({ rule: 'FIXTURE_DIFFERS', severity: 'warning' }), finding({}));
    expect(log).toMatchObject({ version: '2.1.0', $schema: expect.stringContaining('sarif-2.1.0') });
    const { tool, results } = run(log) as {
      tool: { driver: { name: string; rules: { id: string }[] } };
      results: Json;
    };
    expect(tool.driver.name).toBe('Glovebox');
    expect(tool.driver.rules.map(({ id }) => id)).toEqual(['FIXTURE_DIFFERS', 'TYPES_FAILED']);
    for (const result of results as { ruleId: string; ruleIndex: number; message: { text: string }; level: string }[]) {
      expect(tool.driver.rules[result.ruleIndex]?.id).toBe(result.ruleId);
      expect(result.message.text).not.toBe('');
      expect(['none', 'note', 'warning', 'error']).toContain(result.level);
    }
  });

  it('tells place and severity of each finding, and leaves out a place that there is not', () => {
    const log = sarif(
      finding({}),
      finding({ severity: 'notice', line: 4, column: null }),
      finding({ file: 'a b/é#%.json', line: null, column: null, path: '/x/0' }),
      finding({ file: null, line: null, column: null }),
    );
    expect(run(log).results).toMatchObject([
      {
        level: 'error',
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: 'src/index.ts', uriBaseId: '%SRCROOT%' },
              region: { startLine: 3, startColumn: 7 },
            },
          },
        ],
      },
      { level: 'note', locations: [{ physicalLocation: { region: { startLine: 4 } } }] },
      {
        locations: [{ physicalLocation: { artifactLocation: { uri: 'a%20b/%C3%A9%23%25.json' } } }],
        properties: { pointer: '/x/0' },
      },
      { ruleId: 'TYPES_FAILED' },
    ]);
    const results = run(log).results as { locations?: { physicalLocation: object }[] }[];
    expect(results[2]?.locations?.[0]?.physicalLocation).not.toHaveProperty('region');
    expect(results[3]).not.toHaveProperty('locations');
  });

  it('hands on fixes, by file', () => {
    const edit = (file: string, line: number) => ({
      file,
      start: { line, column: 5 },
      end: { line, column: 9 },
      text: '"1.2.3"',
    });
    const fix = {
      title: 'Pin it',
      edits: [edit('package.json', 1), edit('package-lock.json', 2), edit('package.json', 3)],
    };
    const [result] = run(sarif(finding({ fix }))).results as [{ fixes: Json[] }];
    expect(result.fixes).toMatchObject([
      {
        description: { text: 'Pin it' },
        artifactChanges: [
          {
            artifactLocation: { uri: 'package.json' },
            replacements: [
              {
                deletedRegion: { startLine: 1, startColumn: 5, endLine: 1, endColumn: 9 },
                insertedContent: { text: '"1.2.3"' },
              },
              { deletedRegion: { startLine: 3 } },
            ],
          },
          { artifactLocation: { uri: 'package-lock.json' }, replacements: [{ deletedRegion: { startLine: 2 } }] },
        ],
      },
    ]);
  });
});
