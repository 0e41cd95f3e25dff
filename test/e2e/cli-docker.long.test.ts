import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDockerEngine } from '../support/docker-engine.ts';
import { useCli } from '../support/use-cli.ts';

const cli = useCli();

it('a container engine that is configured is what doctor judges and what runs nodes, and receipts tell what it lacks', async () => {
  const engine = await startDockerEngine();
  try {
    mkdirSync(cli().dataDir, { recursive: true, mode: 0o700 });
    const text = `driver: docker\ndocker: { host: "unix://${engine.socketPath}" }\n`;
    writeFileSync(join(cli().dataDir, 'glovebox.yaml'), text, { mode: 0o600 });
    const doctor = await cli().run(['doctor', '--json']);
    expect({ code: doctor.code, report: doctor.json() }).toMatchObject({
      code: 0,
      report: { usable: true, driver: 'docker', class: 'ns', acceptedRisks: [] },
    });
    await cli().node('good', { id: 'good', body: 'return 42;' });
    const ran = await cli().run(['node', 'run', 'good', '--trial', '--json']);
    expect({ code: ran.code, output: ran.json().output }).toEqual({ code: 0, output: 42 });
    const verified = await cli().run(['verify', ran.json().run as string, '--json']);
    expect(verified.json()).toMatchObject({
      statement: {
        predicate: { observed: { driver: { name: 'docker' }, acceptedRisks: [] } },
      },
    });
  } finally {
    await engine.stop();
  }
});
