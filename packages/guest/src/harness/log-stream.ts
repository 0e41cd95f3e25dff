import type { ClientStream } from '@glovebox/channel';
import type { GuestLog, logRecordBytes } from '@glovebox/contract';
import { type Control, paths } from './control.ts';
import { quote, sliceText, utf8Bytes, utf8Length } from './primordials.ts';

const maxMessageLength = 64 * 1024;
/** As in the contract, which is not loaded here: what the shortest record counts for. */
const leastBytes: typeof logRecordBytes = 16;

/**
 * What the node logs, as lines of JSON on one stream that is opened with the first of them.
 *
 * Each record is handed over before `write` returns, as far as the host has given credit, so that it is not lost when the
 * node then never yields, or exits. What is beyond credit waits in memory: at most the log limit of the attempt. The record
 * that passes the limit is still sent, which tells the host; nothing after it is.
 */
export class LogStream {
  readonly #control: Control;
  readonly #limitBytes: number;
  #sentBytes = 0;
  #stream: ClientStream | undefined;
  #closed = false;
  #handedOver: Promise<void> | undefined;

  constructor(control: Control, limitBytes: number) {
    this.#control = control;
    this.#limitBytes = limitBytes;
  }

  /** @param fieldsText JSON. Never throws. */
  write(source: GuestLog['source'], level: GuestLog['level'], message: string, fieldsText?: string): void {
    if (this.#closed || this.#sentBytes > this.#limitBytes) return;
    const kept = cutMessage(message);
    const fields = fieldsText === undefined ? '' : `,"fields":${fieldsText}`;
    const line = `{"source":"${source}","level":"${level}","message":${quote(kept)}${fields}}\n`;
    const bytes = utf8Length(kept) + (fieldsText === undefined ? 0 : utf8Length(fieldsText));
    this.#sentBytes += bytes < leastBytes ? leastBytes : bytes;
    try {
      this.#stream ??= this.#control.open('POST', paths.log);
      this.#handedOver = this.#stream.write(utf8Bytes(line));
      this.#control.flush();
    } catch {
      // The channel has ended, and the process is about to.
      this.#closed = true;
    }
  }

  /** Take nothing more. @returns when everything is handed over; undefined when there was nothing. */
  close(): Promise<void> | undefined {
    this.#closed = true;
    return this.#handedOver;
  }
}

function cutMessage(message: string): string {
  if (message.length <= maxMessageLength) return message;
  const kept = maxMessageLength - 64;
  return `${sliceText(message, 0, kept)}… (${message.length - kept} more characters)`;
}
