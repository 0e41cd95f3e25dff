import { type Service, sendJson } from './listen.ts';

/** Of Stripe's API: customers, by pages; a charge that is declined; and an answer that is lost once. */
export function stripeService(): Service {
  const keys: string[] = [];
  return ({ method, path, query, headers, body }, response) => {
    const sent = new URLSearchParams(body.toString());
    if (headers.authorization !== 'Bearer sk_from_the_test')
      return sendJson(response, { error: { type: 'invalid_request_error', message: 'No such key' } }, 401);
    if (path === '/v1/customers' && method === 'POST')
      return sendJson(response, {
        id: 'cus_1',
        object: 'customer',
        email: sent.get('email'),
        plan: sent.get('metadata[plan]'),
      });
    if (path === '/v1/customers') {
      const after = Number((query.get('starting_after') ?? 'cus_0').slice('cus_'.length));
      const data = [after + 1, after + 2].map((n) => ({ id: `cus_${n}`, object: 'customer' }));
      return sendJson(response, { object: 'list', url: path, has_more: after < 4, data });
    }
    if (path === '/v1/charges')
      return sendJson(response, { error: { type: 'card_error', code: 'card_declined', message: 'Declined.' } }, 402);
    if (path === '/v1/refunds') {
      keys.push(String(headers['idempotency-key']));
      if (keys.length === 1) return sendJson(response, { error: { type: 'api_error', message: 'Try again.' } }, 500);
      return sendJson(response, {
        id: 're_1',
        object: 'refund',
        sameKey: keys[0] === keys[1] && keys[0] !== 'undefined',
      });
    }
    return sendJson(response, { error: { type: 'invalid_request_error', message: 'No such path' } }, 404);
  };
}
