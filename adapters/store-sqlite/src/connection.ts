import { getCompileCacheDir } from 'node:module';
import { Worker } from 'node:worker_threads';
import { GloveboxError } from '@glovebox/contract/errors';
import type { Answer, Arguments, OpenOptions, OperationName, Request, Result } from './messages.ts';

/** A way to the database: in a worker thread, or in this one. */
export interface Connection {
  call<Name extends OperationName>(name: Name, ...args: Arguments<Name>): Promise<Result<Name>>;
  close(): Promise<void>;
}

/** In the caller's thread: each call blocks it until the disk has answered. */
export async function connectHere(options: OpenOptions): Promise<Connection> {
  const { openStoreDatabase } = await import('./store-database.ts');
  const database = openStoreDatabase(options);
  let closed = false;
  return {
    async call(name, ...args) {
      if (closed) throw closedError(options.path);
      return database.perform(name, args);
    },
    async close() {
      if (closed) return;
      closed = true;
      database.close();
    },
  };
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * In a worker thread of its own. Resolves when the database is open. An idle connection does not keep the process alive;
 * one with a call under way does.
 */
export async function connectWorker(options: OpenOptions): Promise<Connection> {
  const cache = getCompileCacheDir();
  const source = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js';
  const worker = new Worker(new URL(source, import.meta.url), {
    workerData: options,
    // Nothing of this process's environment, but for the cache that spares the worker the compiling.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
    execArgv: [],
    name: 'store-sqlite',
  });
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let ended: GloveboxError | undefined;

  const settle = (message: Answer): void => {
    const waiting = pending.get(message.id);
    if (waiting === undefined) return;
    pending.delete(message.id);
    if (pending.size === 0) worker.unref();
    if (message.ok) waiting.resolve(message.value);
    else waiting.reject(GloveboxError.fromData(message.error));
  };
  const end = (error: GloveboxError): void => {
    ended ??= error;
    for (const { reject } of pending.values()) reject(ended);
    pending.clear();
  };
  worker.on('message', settle);
  worker.on('error', (cause) => end(new GloveboxError('INTERNAL', { message: 'the store thread failed', cause })));
  worker.on('exit', () =>
    end(new GloveboxError('INTERNAL', { message: `the store thread of ${options.path} is gone` })),
  );

  const wait = (id: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      pending.set(id, { resolve, reject });
      worker.ref();
    });
  const send = async (request: Request): Promise<unknown> => {
    if (ended !== undefined) throw ended;
    // Throws for what cannot be copied to a thread; only then is there an answer to wait for.
    worker.postMessage(request);
    return wait(request.id);
  };

  const stop = async (): Promise<void> => {
    try {
      if (ended === undefined) await send({ id: ++lastId, kind: 'close' });
    } finally {
      await worker.terminate();
    }
  };

  await wait(0);
  let closing: Promise<void> | undefined;
  return {
    async call(name, ...args) {
      if (closing !== undefined) throw closedError(options.path);
      // Name and arguments belong together by the type of `call`.
      return (await send({ id: ++lastId, kind: name, args } as unknown as Request)) as never;
    },
    close() {
      closing ??= stop();
      return closing;
    },
  };
}

function closedError(path: string): GloveboxError {
  return new GloveboxError('INTERNAL', { message: `the store of ${path} is closed` });
}
