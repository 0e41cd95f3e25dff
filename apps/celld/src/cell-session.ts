import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Cell, type CellEnd, checkPlan } from '@glovebox/cell';
import {
  type CelldRequest,
  type CellOrder,
  type CellStreamName,
  celldError,
  celldLineBytes,
  cellOrderSchema,
  decodeCelldLine,
  protocolError,
  readLine,
} from '@glovebox/cell/celld-protocol';
import { type CellId, type CellPlan, GloveboxError, toErrorData } from '@glovebox/contract';
import { type House, refuse, say, sayLast } from './house.ts';
import { expectSilence, pourIn, pourOut } from './join-streams.ts';
import type { Share } from './quota.ts';

type Cause = Parameters<Cell['kill']>[0];

/** Where the cell of a session stands. Doomed while it boots, it is killed as soon as it can be. */
type Life = { kind: 'booting'; doom?: Cause } | { kind: 'running'; cell: Cell } | { kind: 'over'; cell: Cell };

/** Boot a cell for who asks for it on `control`, whose end is the cell's end. Resolves when nothing is left of it. */
export async function serveCell(
  house: House,
  request: Extract<CelldRequest, { open: 'cell' }>,
  control: Socket,
): Promise<void> {
  const id = request.id as CellId;
  const plan = checkPlan(request.plan, id);
  house.images.require(plan.image);
  if (house.sessions.has(id)) throw new GloveboxError('PLAN_REFUSED', { message: 'The id of the cell is in use.' });
  const share = house.quota.take(plan.limits);
  const session = new CellSession(house, request.key, plan, id, control);
  house.sessions.set(id, session);
  try {
    await session.run(share);
  } finally {
    house.sessions.delete(id);
  }
}

/** One cell, the connection that it hangs on, and those of its streams. */
export class CellSession {
  readonly #house: House;
  readonly #key: Buffer;
  readonly #plan: CellPlan;
  readonly #id: CellId;
  readonly #control: Socket;
  #life: Life = { kind: 'booting' };
  #dispatched = false;
  /** Streams that no connection has been attached to. */
  readonly #free: Set<CellStreamName>;
  readonly #attached = new Map<CellStreamName, Socket>();
  #onStreamClosed = (): void => {};

  constructor(house: House, key: string, plan: CellPlan, id: CellId, control: Socket) {
    this.#house = house;
    this.#key = Buffer.from(key);
    this.#plan = plan;
    this.#id = id;
    this.#control = control;
    this.#free = new Set(['channel', 'stdout', 'stderr', ...(plan.role === 'bundle' ? (['stdin'] as const) : [])]);
  }

  async run(share: Share): Promise<void> {
    say(this.#control, { opened: {} });
    this.#control.once('close', () => this.doom('cancelled'));
    this.#takeOrders().catch((thrown: unknown) => this.#violate(thrown));
    const cell = await this.#boot(share);
    if (cell === undefined) return;
    const end = await cell.ended;
    this.#life = { kind: 'over', cell };
    if (end.error?.code === 'CELL_LOST') share.keep();
    else share.release();
    this.#tellEnd(end);
    await this.#drain();
    for (const stream of [cell.channel, cell.stdout, cell.stderr, cell.stdin]) stream?.destroy();
    sayLast(this.#house, this.#control);
  }

  /** Whether the cell is confirmed dead, or given up. */
  get isOver(): boolean {
    return this.#life.kind === 'over';
  }

  /** Kill the cell, or see to it that it is as soon as it is booted. */
  doom(cause: Cause): void {
    if (this.#life.kind === 'running') this.#life.cell.kill(cause);
    else if (this.#life.kind === 'booting') this.#life.doom ??= cause;
  }

  /** @throws GloveboxError `CELLD_PROTOCOL`. */
  attach(key: string, stream: CellStreamName, socket: Socket): void {
    if (!timingSafeEqual(Buffer.from(key), this.#key)) throw noSuchCell();
    if (!this.#free.delete(stream)) throw protocolError(`There is no ${stream} to attach to`);
    this.#attached.set(stream, socket);
    socket.once('close', () => {
      this.#attached.delete(stream);
      this.#onStreamClosed();
    });
    say(socket, { attached: {} });
    if (this.#life.kind !== 'booting') this.#join(this.#life.cell, stream, socket);
  }

  async #boot(share: Share): Promise<Cell | undefined> {
    try {
      const cell = await this.#house.driver.boot(this.#plan, this.#id);
      const { doom } = this.#life as Extract<Life, { kind: 'booting' }>;
      this.#life = { kind: 'running', cell };
      // A stream whose error nobody hears would end this process; each is followed by its close.
      for (const part of [cell.channel, cell.stdout, cell.stderr, cell.stdin]) part?.on('error', () => {});
      if (doom !== undefined) cell.kill(doom);
      if (this.#control.writable) say(this.#control, { booted: cell.facts });
      for (const [stream, socket] of this.#attached) this.#join(cell, stream, socket);
      return cell;
    } catch (thrown) {
      share.release();
      this.#free.clear();
      for (const socket of this.#attached.values()) socket.destroy();
      refuse(this.#house, this.#control, thrown);
      return undefined;
    }
  }

  #join(cell: Cell, stream: CellStreamName, socket: Socket): void {
    if (stream === 'channel') {
      pourOut(cell.channel, socket);
      pourIn(socket, cell.channel);
    } else if (stream === 'stdin') {
      if (cell.stdin !== null) pourIn(socket, cell.stdin);
    } else {
      pourOut(cell[stream], socket);
      expectSilence(socket, () => this.#violate(protocolError(`Nothing is to be said on ${stream}`)));
    }
  }

  async #takeOrders(): Promise<void> {
    for (;;) {
      const line = await readLine(this.#control, celldLineBytes.request);
      // Whoever has no more orders has given the cell up.
      if (line === undefined) return this.doom('cancelled');
      const order = decodeCelldLine(line, celldLineBytes.request, cellOrderSchema);
      if (this.#life.kind === 'booting') throw protocolError('An order came before the cell was booted');
      // It crossed the news that the cell has ended.
      if (this.#life.kind === 'running') await this.#obey(this.#life.cell, order);
    }
  }

  async #obey(cell: Cell, order: CellOrder): Promise<void> {
    if ('kill' in order) return cell.kill(order.kill.cause);
    if (this.#dispatched) throw protocolError('A cell is dispatched once');
    this.#dispatched = true;
    try {
      await cell.dispatch(order.dispatch);
      if (this.#mayTell()) say(this.#control, { dispatched: {} });
    } catch (thrown) {
      if (this.#mayTell()) say(this.#control, { refused: celldError(toErrorData(thrown)) });
    }
  }

  #mayTell(): boolean {
    return this.#life.kind === 'running' && this.#control.writable;
  }

  #violate(thrown: unknown): void {
    this.doom('violation');
    refuse(this.#house, this.#control, thrown);
  }

  #tellEnd({ error, ...end }: CellEnd): void {
    if (!this.#control.writable) return;
    say(this.#control, { ended: { ...end, ...(error === undefined ? {} : { error: celldError(error) }) } });
  }

  /** Let the client have what the dead cell wrote. What it does not take in time is cut, and the client told so. */
  async #drain(): Promise<void> {
    const isGivenUp = (): boolean => this.#control.destroyed || this.#control.readableEnded || !this.#control.writable;
    const isDrained = (): boolean => isGivenUp() || (this.#attached.size === 0 && this.#free.size === 0);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#house.patience.drainMs);
      const check = (): void => {
        if (!isDrained()) return;
        clearTimeout(timer);
        resolve();
      };
      this.#onStreamClosed = check;
      this.#control.once('close', check);
      this.#control.once('end', check);
      check();
    });
    for (const [stream, socket] of this.#attached) {
      if (this.#control.writable) say(this.#control, { cut: { stream } });
      socket.destroy();
    }
    this.#free.clear();
  }
}

/** The same words whether there is no such cell or it is another's: who does not have the key learns nothing. */
export const noSuchCell = (): GloveboxError => protocolError('There is no such cell, or this is not its key');
