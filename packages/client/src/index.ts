export {
  type CallArgs,
  type Client,
  type ClientOptions,
  createClient,
  type StreamArgs,
  type StreamEvent,
} from './client.ts';
export type { ApiResponse, Fetch, FetchInit } from './fetch.ts';
