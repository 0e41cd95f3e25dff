import { defineNode } from '@glovebox/sdk';
import Stripe from 'stripe';

const key = 'sk_from_the_test';
const stripe = new Stripe(key, { maxNetworkRetries: 1 });
const byFetch = new Stripe(key, { httpClient: Stripe.createFetchHttpClient(), maxNetworkRetries: 0 });
const elsewhere = new Stripe(key, { host: 'elsewhere.test', maxNetworkRetries: 0 });

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  if (ctx.input.denied) return new Stripe(key, { host: 'elsewhere.test' }).customers.list();
  const failure = (error: Error & { type?: string; code?: string }): unknown => [error.type, error.code ?? null];
  const ids: string[] = [];
  for await (const { id } of stripe.customers.list({ limit: 2 })) ids.push(id);
  return {
    created: { ...(await stripe.customers.create({ email: 'a@b.test', metadata: { plan: 'large & small' } })) },
    ids,
    byFetch: (await byFetch.customers.list()).data.length,
    createdByFetch: (await byFetch.customers.create({ email: 'f@b.test' })).email,
    retried: { ...(await stripe.refunds.create({ charge: 'ch_1' })) },
    declined: await stripe.charges.create({ amount: 1, currency: 'eur' }).catch(failure),
    wrongKey: await new Stripe('sk_other', { maxNetworkRetries: 0 }).customers.list().catch(failure),
    denied: await elsewhere.customers.list().catch((error) => [error.type, error.detail?.code, error.detail?.reason]),
    deniedByFetch: await new Stripe(key, {
      host: 'elsewhere.test',
      httpClient: Stripe.createFetchHttpClient(),
      maxNetworkRetries: 0,
    }).customers
      .list()
      .catch((error) => [error.type, error.detail?.cause?.code, error.detail?.cause?.reason]),
  };
});
