/** The part of a `Response` that a client needs: that of the web platform is one, and so is what answers in process. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
  text(): Promise<string>;
}

export interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body?: string;
  /** Ends the call, and whatever the server does for it. */
  signal?: AbortSignal;
}

/** How a client reaches a server. The `fetch` of the web platform is one. */
export type Fetch = (url: string, init: FetchInit) => Promise<ApiResponse>;
