/**
 * Codes of what goes wrong on one stream. `CHANNEL_CLOSED`: the connection has ended. `CHANNEL_RESET`: this stream was
 * given up by either side. `CHANNEL_HEAD_INVALID`: the head cannot be sent as it is. `CHANNEL_STREAM_LIMIT`: too many
 * streams are open. `CHANNEL_MISUSE`: the caller broke the order of calls, a defect of the caller.
 */
export type ChannelErrorCode =
  | 'CHANNEL_CLOSED'
  | 'CHANNEL_RESET'
  | 'CHANNEL_HEAD_INVALID'
  | 'CHANNEL_STREAM_LIMIT'
  | 'CHANNEL_MISUSE';

/** The channel's own error: it is bundled into the guest, where the catalogue of the product would be dead weight. */
export class ChannelError extends Error {
  readonly code: ChannelErrorCode;

  constructor(code: ChannelErrorCode, message: string) {
    super(message);
    this.name = 'ChannelError';
    this.code = code;
  }
}
