import type { Client } from '@glovebox/client';
import { localActor } from './actor.ts';
import type { Config } from './config.ts';
import { openLocalParts } from './local-parts.ts';
import { printable } from './output.ts';
import { isAttended } from './terminal.ts';

/** The API with its server in this process. */
export interface LocalApi {
  client: Client;
  /** Resolves once nothing is under way any more: cells are dead, records are closed. */
  close(): Promise<void>;
}

/**
 * The API of a data directory, for this process alone. What a call needs of the engine is opened by that call. Whoever calls
 * gets `INTERNAL` for a defect of ours; where it is in our code is told on stderr.
 *
 * @param first `cells`: all that running a node takes is opened here, at once, and what this host lacks is told before
 *   anything else is looked at.
 */
export async function openApi(config: Config, first: 'nothing' | 'cells' = 'nothing'): Promise<LocalApi> {
  const parts = openLocalParts(config);
  const opening =
    first === 'cells' ? import('@glovebox/engine').then(({ openEngine }) => openEngine(parts.open)) : undefined;
  // It is waited for below, after what goes on meanwhile.
  opening?.catch(() => undefined);
  const [{ createApp }, { createClient }, { roles }] = await Promise.all([
    import('@glovebox/server'),
    import('@glovebox/client'),
    import('@glovebox/contract/routes'),
  ]);
  const principal = { name: localActor(), roles, presence: isAttended() ? 'attended' : 'unattended' } as const;
  const app = createApp({ open: parts.open, recover: parts.recover, principal, onDefect: tellDefect });
  try {
    await opening;
  } catch (error) {
    await parts.close();
    throw error;
  }
  return {
    // No connection is made; the host of the URL is one that there cannot be.
    client: createClient({ fetch: app.inProcess, baseUrl: 'http://glovebox.invalid' }),
    async close() {
      await app.settled();
      await parts.close();
    },
  };
}

function tellDefect(error: unknown): void {
  process.stderr.write(`${printable(error instanceof Error ? (error.stack ?? error.message) : String(error))}\n`);
}
