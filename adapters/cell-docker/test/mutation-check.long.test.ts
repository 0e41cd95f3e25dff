import { type CellDriver, conformanceChecks } from '@glovebox/cell';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';
import { failingWitnesses, lifting, liveCases, probedCases } from '../../../test/support/mutation-check.ts';
import { dockerWeakenings } from './weakenings.ts';

let engine: DockerEngine;
let bench: DockerBench;
beforeAll(async () => {
  engine = await startDockerEngine();
  bench = openDockerBench({ engine: { socketPath: engine.socketPath }, runtime: 'runc' });
});
afterAll(async () => {
  await bench.settle();
  await engine.stop();
  bench.remove();
});

/**
 * Properties that a probe cell is found not to have, sorted; or why there was none to judge. What is the engine's word alone is
 * `degraded`: this engine maps no ids, and a host may hide the namespaces that a cell's are compared with.
 */
async function failingRows(driver: CellDriver): Promise<string[] | { refused: string }> {
  const { facts } = await driver.inspect(bench.image.digest);
  const refused = facts.find(({ name, state }) => name === 'probe-cell' && state !== 'in-force');
  if (refused !== undefined) return { refused: refused.detail };
  return conformanceChecks
    .filter(({ property }) => {
      const state = facts.find(({ name }) => name === property)?.state;
      return state !== 'in-force' && state !== 'degraded';
    })
    .map(({ property }) => property)
    .sort();
}

const weakening = (name: (typeof probedCases)[number]['weaken']) => dockerWeakenings(bench.claimsDirectory)[name];
const possible = probedCases.filter(({ weaken }) => dockerWeakenings('')[weaken].cannot === undefined);

describe('of a cell of an engine that lacks one thing', () => {
  it('no row fails when nothing was taken away', async () => {
    expect(await failingRows(bench.open({ weakenForTest: (body) => body }))).toEqual([]);
  });

  it.each(possible)('$property fails, by $weaken, and nothing else', async ({ property, weaken }) => {
    const { options, also = {}, refused } = weakening(weaken);
    const failing = await failingRows(bench.open(options));
    if (refused === 'driver')
      expect(failing).toEqual({ refused: expect.stringMatching(new RegExp(`: .*\\b${property}\\b`)) });
    else expect(failing).toEqual([property, ...Object.keys(also)].sort());
  });

  it('every limit holds when none was lifted', async () => {
    expect(await failingWitnesses((limits) => bench.boot(limits))).toEqual([]);
  });

  it.each(liveCases)('$property is not seen, by $weaken, and nothing else', async ({ property, weaken }) => {
    const { options, lift } = weakening(weaken);
    const driver = bench.open(options);
    const boot = async (limits: Parameters<typeof bench.plan>[0]) => lifting(await bench.boot(limits, driver), lift);
    expect(await failingWitnesses(boot)).toEqual([property]);
  });
});
