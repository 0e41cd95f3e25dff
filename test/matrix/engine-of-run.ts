import { startDockerEngine } from '../support/docker-engine.ts';
import { engineVariable } from '../support/test-driver.ts';

/** One engine for all tests of a run; its socket is handed on by the environment. */
export default async function setUp(): Promise<() => Promise<void>> {
  const engine = await startDockerEngine();
  process.env[engineVariable] = engine.socketPath;
  return engine.stop;
}
