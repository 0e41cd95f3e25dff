export type {
  BodyWriter,
  ChannelClient,
  ChannelEnd,
  ChannelLimits,
  ChannelServer,
  ClientStream,
  ConnectClient,
  RequestHead,
  ResponseHead,
  ServeChannel,
  ServerStream,
} from './api.ts';
export { connectClient } from './client.ts';
export { ChannelError, type ChannelErrorCode } from './errors.ts';
export { defaultChannelLimits } from './limits.ts';
export { serveChannel } from './server.ts';
