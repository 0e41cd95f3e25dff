import { defineNode } from '@glovebox/sdk';
import { GoogleAuth, JWT, OAuth2Client } from 'google-auth-library';

interface Input {
  denied?: boolean;
  /** PEM of the service account. */
  privateKey: string;
}

const buckets = 'https://storage.googleapis.com/storage/v1/b?project=p';

export default defineNode<Input, unknown, unknown>(async (ctx) => {
  const user = new OAuth2Client({ clientId: 'id', clientSecret: 'secret' });
  user.setCredentials({ refresh_token: 'refresh-from-the-test' });
  const elsewhere = { url: 'https://elsewhere.test/', retryConfig: { retry: 0 } };
  if (ctx.input.denied) return (await user.request(elsewhere)).status;
  const account = {
    email: 'a@p.iam.test',
    key: ctx.input.privateKey,
    scopes: ['https://www.googleapis.com/auth/devstorage.read_only'],
  };
  const jwt = new JWT(account);
  const auth = new GoogleAuth({
    credentials: { client_email: account.email, private_key: account.key },
    scopes: account.scopes,
  });
  const revoked = new OAuth2Client({ clientId: 'id', clientSecret: 'secret' });
  revoked.setCredentials({ refresh_token: 'revoked' });
  return {
    refreshed: (await user.request({ url: buckets })).data,
    token: (await user.getAccessToken()).token,
    jwt: [(await jwt.authorize()).access_token, (await jwt.request({ url: buckets })).data],
    auth: (await auth.request({ url: buckets })).data,
    revoked: await revoked.getAccessToken().catch((error) => [error.name, error.response?.data?.error]),
    missing: await user
      .request({ url: 'https://storage.googleapis.com/storage/v1/none' })
      .catch((error) => error.status),
    ambient: await new GoogleAuth().getClient().catch((error) => error.message.slice(0, 40)),
    denied: await user
      .request(elsewhere)
      .catch((error) => [error.code, error.cause?.code, /\((\w+)\)/.exec(error.message)?.[1]]),
  };
});
