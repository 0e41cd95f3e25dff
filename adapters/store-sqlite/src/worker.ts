import { parentPort, workerData } from 'node:worker_threads';
import { toErrorData } from '@glovebox/contract/errors';
import type { Answer, OpenOptions, Request } from './messages.ts';
import { openStoreDatabase, type StoreDatabase } from './store-database.ts';

/** The thread that owns the connection: requests in the order of their arrival, one answer each. */
function serve(port: NonNullable<typeof parentPort>, options: OpenOptions): void {
  const answer = (message: Answer): void => port.postMessage(message);
  let database: StoreDatabase;
  try {
    database = openStoreDatabase(options);
  } catch (error) {
    answer({ id: 0, ok: false, error: toErrorData(error) });
    return;
  }
  answer({ id: 0, ok: true, value: undefined });
  port.on('message', (request: Request) => {
    try {
      answer({ id: request.id, ok: true, value: perform(database, request) });
    } catch (error) {
      answer({ id: request.id, ok: false, error: toErrorData(error) });
    }
    if (request.kind === 'close') port.close();
  });
}

function perform(database: StoreDatabase, request: Request): unknown {
  if (request.kind === 'close') return database.close();
  // Kind and arguments belong together by the type of Request.
  return database.perform(request.kind, request.args as never);
}

if (parentPort === null) throw new Error('worker.ts is started as a worker thread');
serve(parentPort, workerData as OpenOptions);
