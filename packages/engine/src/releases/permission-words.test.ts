import { manifestSchema } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { permissionWords } from './permission-words.ts';

const manifest = (over: object) =>
  manifestSchema.parse({ schemaVersion: 1, id: 'some-node', title: 'Some node', input: {}, output: {}, ...over });

it('says what a node without capabilities may do: compute', () => {
  expect(permissionWords(manifest({}))).toEqual([
    'Reaches no host.',
    'Has no effect outside of its run.',
    'Leaves no files.',
    'Uses at most 0.5 cores, 128 MiB of memory, 1.0 MiB of scratch and 64 processes and threads, for 30.0 s.',
    'Gives at most 256 KiB of output and 1.0 MiB of log.',
  ]);
});

it('begins with secrets that are read, then those that are used, and leaves nothing out', () => {
  const words = permissionWords(
    manifest({
      capabilities: {
        http: {
          rules: [
            { host: 'api.example.com', methods: ['GET', 'POST'], paths: ['/v1/**', '/v2/a'] },
            { scheme: 'http', host: '*.example.org', port: 8080, methods: ['DELETE'], paths: ['/'] },
            { scheme: 'http', host: 'plain.example.org', port: 80, methods: ['GET'], paths: ['/'] },
            { scheme: 'http', host: 'odd.example.org', methods: ['GET'], paths: ['/'], websocket: true },
          ],
          maxRequests: 7,
          maxResponseBytes: '2MiB',
          maxRedirects: 1,
        },
        credentials: {
          api: { kinds: ['bearer', 'basic'], hosts: ['api.example.com', 'b.example.com'], required: false },
          raw: { kinds: ['hmac'], hosts: ['c.example.com'], reveal: true },
        },
        scratch: { maxBytes: '64MiB' },
        files: { maxBytes: '5MiB', maxCount: 3 },
      },
      sideEffect: 'write',
      idempotent: true,
    }),
  );
  expect(words.slice(0, -2)).toEqual([
    'READS THE SECRET of the credential in slot raw (hmac for c.example.com).',
    'Uses the credential in slot api (bearer or basic for api.example.com, b.example.com, if one is bound) without seeing it.',
    'Sends GET, POST to https://api.example.com, paths /v1/**, /v2/a.',
    'Sends DELETE to http://*.example.org:8080, paths /.',
    'Sends GET to http://plain.example.org, paths /.',
    'Sends GET to http://odd.example.org:443, paths /, and may open a WebSocket there.',
    'Makes at most 7 requests, with 1 redirects each and 2MiB of answers in all.',
    'CHANGES things elsewhere. The same attempt twice does no more than once.',
    'Leaves at most 3 files, 5MiB in all.',
  ]);
  expect(words.at(-2)).toContain('64.0 MiB of scratch');
});
