import type { ChannelClient, ChannelLimits, ClientStream, ConnectClient, RequestHead, ResponseHead } from './api.ts';
import { Connection } from './connection.ts';
import { ChannelError } from './errors.ts';
import { encodeRequestHead } from './head.ts';
import { defaultChannelLimits, limitRanges, resolveLimits } from './limits.ts';
import { pinTransport, pinView } from './pin.ts';
import { min } from './primordials.ts';
import { defer } from './promises.ts';
import { Stream } from './stream.ts';

/**
 * The cell's end. Takes the transport over: nobody else may read from it or write to it.
 *
 * Call it before author code is loaded: whatever built-ins that code replaces later, this end goes on with the true ones.
 */
export const connectClient: ConnectClient = (transport, limits) => {
  const resolved = resolveLimits({
    ...limits,
    connectionWindowBytes: limits?.connectionWindowBytes ?? roomForAll(limits),
  });
  pinTransport(transport);
  const connection = new Connection('client', transport, resolved, { seal: pinView });
  const client: ChannelClient = {
    open: (head) => openStream(connection, head),
    get room() {
      return connection.room;
    },
    flush: () => connection.flush(),
    ended: connection.ended,
    close: () => connection.close(),
  };
  return client;
};

/**
 * A window that the streams together cannot fill: bodies that author code leaves unread must not hold up the answers of the
 * control plane. It is the cell's own memory.
 */
function roomForAll(limits: Partial<ChannelLimits> = {}): number {
  const { maxStreams, streamWindowBytes } = { ...defaultChannelLimits, ...limits };
  return min(maxStreams * streamWindowBytes, limitRanges.connectionWindowBytes[1]);
}

function openStream(connection: Connection, head: RequestHead): ClientStream {
  if (connection.end) throw connection.closedError();
  if (connection.room === 0) throw new ChannelError('CHANNEL_STREAM_LIMIT', 'too many streams are open at once');
  const text = encodeRequestHead(head);
  if (text.length > connection.maxHeadBytes) {
    throw new ChannelError(
      'CHANNEL_HEAD_INVALID',
      `the head has ${text.length} bytes, over ${connection.maxHeadBytes}`,
    );
  }
  const answered = defer<ResponseHead>();
  const stream = new Stream(
    connection,
    0,
    (error) => answered.reject(error),
    () => stream.reset('the reader left'),
    (response) => answered.resolve(response),
  );
  connection.add(stream);
  stream.begin(text);
  return {
    response: answered.promise,
    body: stream.body,
    write: (chunk) => stream.write(chunk),
    end: () => stream.end(),
    reset: (reason) => stream.reset(reason),
  };
}
