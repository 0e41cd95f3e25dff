import type { ResponseHead } from '@glovebox/channel';
import { type AnswerFraming, writeAnswerHead, writeUpgradeHead } from './answer-head.ts';
import { AnswerOutlet } from './answer-outlet.ts';
import { brokenOff, httpOnly, refusedHere, subjectOf } from './egress-error.ts';
import type { AnswerTaker, Exchange, Exchanges } from './exchange.ts';
import { RequestBody } from './request-body.ts';
import { mayBeHttp, type Origin, type ParsedHead, parseRequestHead, startsInLowerCase } from './request-head.ts';

const maxHeadBytes = 64 * 1024;
const headEnd = Buffer.from('\r\n\r\n');
const noBytes = Buffer.alloc(0);
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The text of a status, as in `http.STATUS_CODES`. */
export type PhraseOf = (status: number) => string;

/** The node's end of a connection. */
export interface Line {
  /** @returns whether more may come at once; else `Conversation.resume` is called when it may. `null`: nothing follows. */
  push(bytes: Buffer | null): boolean;
  /** Break the connection, with an error that its user is told. */
  fail(error: Error): void;
}

/** The request that is under way. */
interface Current {
  readonly parsed: ParsedHead;
  readonly body: RequestBody;
  exchange?: Exchange;
  /** All of it has come from the node. */
  spoken: boolean;
  /** All of its answer has gone to the node. */
  told: boolean;
}

/**
 * The far end of one connection of the node, as a server of HTTP/1.1 would be: takes requests one after the other, puts each
 * to the host, and writes the answers. A body is taken in as fast as the host takes it, and given out as fast as the node does.
 */
export class Conversation {
  readonly #origin: Origin;
  readonly #exchanges: Exchanges;
  readonly #phraseOf: PhraseOf;
  readonly #line: Line;
  readonly #outlet: AnswerOutlet;
  #rest: Buffer = noBytes;
  /** Of the write that is not wholly taken in. */
  #taken: (() => void) | undefined;
  #current: Current | undefined;
  #stepping = false;
  #again = false;
  #hungUp = false;
  #over = false;
  /** Whether the node has never written. */
  silent = true;

  constructor(origin: Origin, exchanges: Exchanges, phraseOf: PhraseOf, line: Line) {
    this.#origin = origin;
    this.#exchanges = exchanges;
    this.#phraseOf = phraseOf;
    this.#line = line;
    this.#outlet = new AnswerOutlet((bytes) => line.push(bytes));
  }

  /** The node has written. @param taken called once, when it may go on. */
  receive(bytes: Buffer, taken: () => void): void {
    this.silent = false;
    if (this.#over) {
      taken();
      return;
    }
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#taken = taken;
    this.#advance();
  }

  /** The node has ended its side. */
  hangUp(): void {
    this.#hungUp = true;
    const current = this.#current;
    if (!current) this.#close();
    else if (current.parsed.websocket) this.#endRequest(current);
    else if (!current.spoken) {
      this.#fail(refusedHere('HEADER_REFUSED', `${subjectOf(current.parsed.head)} was not written to its end`));
    }
  }

  /** The node reads again. */
  resume(): void {
    this.#outlet.resume();
  }

  /** The connection is gone. */
  abandon(): void {
    this.#over = true;
    this.#current?.exchange?.cancel('the node gave the request up');
    this.#outlet.resume();
    this.#letGo();
  }

  /** Nothing else can happen in the cell: who waits here for the other side to speak first waits for ever. */
  giveUpIfSilent(): boolean {
    if (!this.silent || this.#over) return false;
    const { host, port } = this.#origin;
    this.#fail(httpOnly(`${host}:${port} was connected to, and nothing was asked for`));
    return true;
  }

  #advance(): void {
    // Letting the writer go may bring its next bytes at once.
    this.#again = true;
    if (this.#stepping) return;
    this.#stepping = true;
    try {
      while (this.#again && !this.#over) {
        this.#again = false;
        if (this.#step()) this.#again = true;
      }
    } catch (error) {
      this.#fail(error as Error);
    } finally {
      this.#stepping = false;
    }
  }

  /** @returns whether there may be more to do at once. */
  #step(): boolean {
    const current = this.#current;
    if (!current) return this.#begin();
    if (current.parsed.websocket) return this.#pass(current);
    if (!current.spoken) return this.#readBody(current);
    // A further request waits until this one is answered, and whoever wrote it waits with it.
    if (this.#rest.length === 0) this.#letGo();
    return false;
  }

  #begin(): boolean {
    while (this.#rest[0] === 13 || this.#rest[0] === 10) this.#rest = this.#rest.subarray(1);
    const { host, port } = this.#origin;
    if (!mayBeHttp(this.#rest)) {
      // What `fetch` makes of `method: 'patch'`.
      const aside = startsInLowerCase(this.#rest) ? ', whose methods are written in capitals' : '';
      throw httpOnly(`To ${host}:${port} was written what is no HTTP/1.1${aside}`);
    }
    const end = this.#rest.indexOf(headEnd);
    if (end === -1) {
      if (this.#rest.length > maxHeadBytes)
        throw refusedHere(
          'HEADER_REFUSED',
          `A request to ${host}:${port} has a head of more than ${maxHeadBytes} bytes`,
        );
      this.#letGo();
      return false;
    }
    const parsed = parseRequestHead(this.#rest.toString('latin1', 0, end), this.#origin);
    this.#rest = this.#rest.subarray(end + headEnd.length);
    if (parsed.expectsContinue) this.#outlet.add(latin1('HTTP/1.1 100 Continue\r\n\r\n'));
    const current: Current = { parsed, body: new RequestBody(parsed.framing), spoken: false, told: false };
    this.#current = current;
    current.exchange = this.#exchanges.begin(parsed.head, this.#answerTo(current));
    return true;
  }

  #readBody(current: Current): boolean {
    const { step, used } = current.body.next(this.#rest);
    this.#rest = this.#rest.subarray(used);
    switch (step.kind) {
      case 'data':
        current.exchange?.write(step.bytes, () => this.#advance());
        return false;
      case 'more':
        this.#letGo();
        return false;
      case 'end':
        this.#endRequest(current);
        return true;
      case 'broken':
        throw refusedHere('HEADER_REFUSED', `${subjectOf(current.parsed.head)} has a body that is not in chunks`);
    }
  }

  /** Bytes of a WebSocket. */
  #pass(current: Current): boolean {
    const bytes = this.#rest;
    this.#rest = noBytes;
    if (bytes.length === 0) this.#letGo();
    else current.exchange?.write(bytes, () => this.#advance());
    return false;
  }

  #endRequest(current: Current): void {
    if (current.spoken) return;
    current.spoken = true;
    current.exchange?.end();
    if (current.told) this.#next();
  }

  #answerTo(current: Current): AnswerTaker {
    const { parsed } = current;
    const { head, version } = parsed;
    const keepAlive = parsed.keepAlive && !parsed.websocket;
    let framing: AnswerFraming = { kind: 'none' };
    const wrongLength = (): Error =>
      brokenOff(undefined, `${subjectOf(head)}, whose answer has another length than it says,`);
    return {
      answered: (answer: ResponseHead) => {
        if (parsed.websocket && answer.status === 200) {
          framing = { kind: 'close' };
          this.#outlet.add(latin1(writeUpgradeHead(answer)));
          return;
        }
        const phrase = this.#phraseOf(answer.status);
        const written = writeAnswerHead(answer, phrase, { method: head.method, version, keepAlive });
        framing = written.framing;
        this.#outlet.add(latin1(written.text));
      },
      chunk: (bytes) => {
        if (framing.kind === 'none') return undefined;
        if (framing.kind === 'length') {
          framing.left -= bytes.length;
          // What is beyond it would be read as the beginning of another answer.
          if (framing.left < 0) throw wrongLength();
        }
        return this.#outlet.addChunk(bytes, framing.kind === 'chunked' ? 'framed' : 'plain');
      },
      ended: () => {
        if (framing.kind === 'length' && framing.left > 0) {
          this.#fail(wrongLength());
          return;
        }
        if (framing.kind === 'chunked') this.#outlet.add(latin1('0\r\n\r\n'));
        current.told = true;
        if (framing.kind === 'close' || !keepAlive) this.#close();
        else if (current.spoken) this.#next();
      },
      failed: (error) => this.#fail(error),
    };
  }

  #next(): void {
    this.#current = undefined;
    if (this.#hungUp) this.#close();
    else this.#advance();
  }

  #close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#outlet.finish();
    this.#letGo();
  }

  #fail(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#current?.exchange?.cancel('the connection failed');
    this.#line.fail(error);
    this.#letGo();
  }

  #letGo(): void {
    const taken = this.#taken;
    // Whoever is told that his bytes are taken may write to that memory again.
    if (taken && !this.#over && this.#rest.length > 0) this.#rest = Buffer.from(this.#rest);
    this.#taken = undefined;
    taken?.();
  }
}
