import type { Json } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { errorLines } from './run-text.ts';

const denied = (details: Json, code = 'EGRESS_DENIED') => errorLines({ code, message: 'GET is denied', details });

it('shows the patch that would have allowed a request', () => {
  const patch = { rules: [{ host: 'a.example', methods: ['GET'], paths: ['/x'] }] };
  expect(denied({ reason: 'HOST_NOT_DECLARED', patch })).toBe(
    `  EGRESS_DENIED: GET is denied
  patch of capabilities.http, as the node was told it (glovebox policy check tells it anew):
    {
      "rules": [
        {
          "host": "a.example",
          "methods": [
            "GET"
          ],
          "paths": [
            "/x"
          ]
        }
      ]
    }`,
  );
});

it.each<[string, Json, string?]>([
  ['none', { reason: 'ADDRESS_NOT_PUBLIC' }],
  ['one that is no object', { patch: ['x'] }],
  ['a text', { patch: 'x' }],
  ['details that are no object', null],
  ['one beyond any of ours', { patch: { rules: 'x'.repeat(4000) } }],
  ['one of another error', { patch: {} }, 'MINE'],
])('shows no patch where there is %s', (_what, details, code) => {
  expect(denied(details, code)).not.toContain('patch');
});

it('shows nothing of a patch as it could steer a terminal', () => {
  const text = denied({ patch: { rules: ['\u001b[2J\u202e'] } });
  expect(text).toContain('\\u001b[2J\\u202e');
});
