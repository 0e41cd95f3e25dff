import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Cell, type CellEnd, checkPlan } from '@glovebox/cell';
import {
  type CelldRequest,
  type CellStreamName,
  celldError,
  celldLineBytes,
  cellOrderSchema,
  decodeCelldLine,
  openLines,
  protocolError,
} from '@glovebox/cell/celld-protocol';
import { type CellId, type CellPlan, type ErrorData, GloveboxError, toErrorData } from '@glovebox/contract';
import { type House, refuse, say, sayLast } from './house.ts';
import { expectSilence, keepUnread, type Outcome, pourIn, pourOut } from './join-streams.ts';
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
  /** The streams of the cell, and to each the connection that was attached to it, also when that is closed. */
  readonly #attached: Map<CellStreamName, Socket | undefined>;
  /** Streams of which a client may yet get more. */
  readonly #unread = new Set<CellStreamName>(['channel', 'stdout', 'stderr']);
  #onRead = (): void => {};

  constructor(house: House, key: string, plan: CellPlan, id: CellId, control: Socket) {
    this.#house = house;
    this.#key = Buffer.from(key);
    this.#plan = plan;
    this.#id = id;
    this.#control = control;
    const names: CellStreamName[] = [...this.#unread, ...(plan.role === 'bundle' ? (['stdin'] as const) : [])];
    this.#attached = new Map(names.map((name) => [name, undefined]));
  }

  async run(share: Share): Promise<void> {
    say(this.#control, { opened: {} });
    this.#control.once('close', () => this.doom('cancelled'));
    this.#takeOrders().catch((thrown: unknown) => this.#violate(thrown));
    const cell = await this.#boot(share);
    if (cell === undefined) return;
    const end = await cell.ended;
    this.#life = { kind: 'over', cell };
    this.#settle(share, end.error);
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
    if (!this.#attached.has(stream) || this.#attached.get(stream) !== undefined) {
      throw protocolError(`There is no ${stream} to attach to`);
    }
    this.#attached.set(stream, socket);
    socket.once('close', () => this.#noteRead(stream));
    say(socket, { attached: {} });
    if (this.#life.kind !== 'booting') this.#join(this.#life.cell, stream, socket);
  }

  async #boot(share: Share): Promise<Cell | undefined> {
    let cell: Cell;
    try {
      cell = await this.#bootInTurn();
    } catch (thrown) {
      this.#settle(share, toErrorData(thrown));
      for (const socket of this.#attached.values()) socket?.destroy();
      this.#attached.clear();
      refuse(this.#house, this.#control, thrown);
      return undefined;
    }
    const { doom } = this.#life as Extract<Life, { kind: 'booting' }>;
    this.#life = { kind: 'running', cell };
    for (const from of [cell.channel, cell.stdout, cell.stderr]) keepUnread(from);
    // A stream whose error nobody hears would end this process; each is followed by its close.
    for (const part of [cell.channel, cell.stdout, cell.stderr, cell.stdin]) part?.on('error', () => {});
    if (doom !== undefined) cell.kill(doom);
    if (this.#control.writable) say(this.#control, { booted: cell.facts });
    for (const [stream, socket] of this.#attached) if (socket !== undefined) this.#join(cell, stream, socket);
    return cell;
  }

  /** Boots wait here and not in the driver, which would boot what nobody wants any more when its turn comes. */
  async #bootInTurn(): Promise<Cell> {
    const end = await this.#house.turns.begin();
    try {
      if ((this.#life as Extract<Life, { kind: 'booting' }>).doom !== undefined) {
        throw new GloveboxError('CELLD_FULL', { message: 'The cell was given up before its turn to boot came.' });
      }
      return await this.#house.driver.boot(this.#plan, this.#id);
    } finally {
      end();
    }
  }

  /** What may still run keeps its share, until a sweep finds that nothing does. */
  #settle(share: Share, error: ErrorData | undefined): void {
    if (error?.code !== 'CELL_LOST') share.release();
    else {
      share.keep();
      this.#house.requests.sweep().catch(() => {});
    }
  }

  #join(cell: Cell, stream: CellStreamName, socket: Socket): void {
    if (stream === 'stdin') {
      if (cell.stdin === null) return;
      pourIn(socket, cell.stdin);
      // Nobody reads on here, and this is how the client hears of it.
      cell.stdin.once('close', () => socket.destroy());
      if (cell.stdin.destroyed) socket.destroy();
      return;
    }
    pourOut(cell[stream], socket, (outcome) => this.#tellOutcome(stream, outcome));
    if (stream === 'channel') pourIn(socket, cell.channel);
    else expectSilence(socket, () => this.#violate(protocolError(`Nothing is to be said on ${stream}`)));
  }

  #tellOutcome(stream: CellStreamName, outcome: Outcome): void {
    if (this.#control.writable) say(this.#control, outcome === 'cut' ? { cut: { stream } } : { drained: { stream } });
    this.#noteRead(stream);
  }

  #noteRead(stream: CellStreamName): void {
    this.#unread.delete(stream);
    this.#onRead();
  }

  /** At most one of each kind, so that what a client says costs next to nothing, however much it is. */
  async #takeOrders(): Promise<void> {
    const lines = openLines(this.#control);
    const given = new Set<'dispatch' | 'kill'>();
    for (;;) {
      const line = await lines.next(celldLineBytes.request);
      // Whoever has no more orders has given the cell up.
      if (line === undefined) return this.doom('cancelled');
      const order = decodeCelldLine(line, celldLineBytes.request, cellOrderSchema);
      if (this.#life.kind === 'booting') throw protocolError('An order came before the cell was booted');
      const kind = 'kill' in order ? 'kill' : 'dispatch';
      if (given.has(kind)) throw protocolError(`A cell has one ${kind}`);
      given.add(kind);
      // It may have crossed the news that the cell has ended.
      if (this.#life.kind !== 'running') continue;
      if ('kill' in order) this.#life.cell.kill(order.kill.cause);
      else void this.#dispatch(this.#life.cell, order.dispatch);
    }
  }

  async #dispatch(cell: Cell, limits: Parameters<Cell['dispatch']>[0]): Promise<void> {
    try {
      await cell.dispatch(limits);
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
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#house.patience.drainMs);
      this.#onRead = (): void => {
        if (this.#unread.size > 0 && !isGivenUp()) return;
        clearTimeout(timer);
        resolve();
      };
      this.#control.once('close', this.#onRead);
      this.#control.once('end', this.#onRead);
      this.#onRead();
    });
    for (const [stream, socket] of this.#attached) {
      if (socket === undefined) continue;
      if (!this.#unread.has(stream)) sayLast(this.#house, socket);
      else {
        if (this.#control.writable) say(this.#control, { cut: { stream } });
        socket.destroy();
      }
    }
    this.#attached.clear();
  }
}

/** The same words whether there is no such cell or it is another's: who does not have the key learns nothing. */
export const noSuchCell = (): GloveboxError => protocolError('There is no such cell, or this is not its key');
