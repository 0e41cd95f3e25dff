/** The parts that are used here of packages that ship no types. */

declare module 'npm-registry-fetch' {
  interface FetchOptions {
    agent: (url: URL) => import('node:http').Agent;
    headers: Record<string, string>;
    retry: { retries: number };
    timeout: number;
    signal: AbortSignal;
    /** Credentials, under keys such as `//host/:_authToken`. */
    [key: `//${string}`]: string;
  }
  interface FetchedResponse {
    status: number;
    body: AsyncIterable<Uint8Array>;
  }
  export default function fetch(url: string, options: FetchOptions): Promise<FetchedResponse>;
}

declare module 'ssri' {
  interface Hash {
    algorithm: string;
    digest: string;
  }
  const ssri: {
    parse(text: string, options?: { strict?: boolean }): Record<string, Hash[]> | null;
    checkData(data: Uint8Array, integrity: string, options: { algorithms: string[] }): object | false;
  };
  export default ssri;
}

declare module 'cacache' {
  const cacache: {
    get: {
      (cache: string, key: string, options: { memoize: false }): Promise<{ data: Uint8Array }>;
      info(cache: string, key: string): Promise<{ integrity: string; size: number } | null>;
      byDigest(cache: string, integrity: string, options: { memoize: false }): Promise<Uint8Array>;
    };
    put(
      cache: string,
      key: string,
      data: Uint8Array,
      options: { integrity?: string; algorithms: string[] },
    ): Promise<unknown>;
    rm: {
      entry(cache: string, key: string): Promise<unknown>;
      content(cache: string, integrity: string): Promise<unknown>;
    };
  };
  export default cacache;
}
