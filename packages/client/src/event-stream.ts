import { GloveboxError } from '@glovebox/contract/errors';

export interface ServerEvent {
  event: string;
  data: string;
}

/** Characters of one event: an output at its limit, and what is told with it. */
const maxEventLength = 128 * 1024 * 1024;

/**
 * Events of a `text/event-stream` as our server writes them (WHATWG HTML, server-sent events): each has one `event` and one
 * `data` line. Comments, ids and retry times are passed over. Linear in what comes, and bounded for each event.
 *
 * @throws GloveboxError `RESPONSE_INVALID` for an event that is too long.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<ServerEvent, void> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  let event = '';
  let data: string | undefined;
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      parts.push(text.slice(start, end));
      const line = parts.join('');
      start = end + 1;
      parts = [];
      length = 0;
      if (line === '') {
        if (data !== undefined) yield { event, data };
        event = '';
        data = undefined;
      } else if (line.startsWith('event: ')) event = line.slice('event: '.length);
      else if (line.startsWith('data: ')) data = line.slice('data: '.length);
    }
    parts.push(text.slice(start));
    length += text.length - start;
    if (length > maxEventLength) throw new GloveboxError('RESPONSE_INVALID', { message: 'An event is too long.' });
  }
}
