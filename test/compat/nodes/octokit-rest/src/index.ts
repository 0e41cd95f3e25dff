import { defineNode } from '@glovebox/sdk';
import { Octokit } from '@octokit/rest';

const octokit = new Octokit({ auth: 'from-the-test', userAgent: 'a-node/1.0' });
const repository = { owner: 'acme', repo: 'widgets' };

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  if (ctx.input.denied) return (await octokit.rest.repos.delete(repository)).status;
  const failure = (error: Error & { status?: number }): unknown => [error.name, error.status];
  const numbers: number[] = [];
  for await (const { data } of octokit.paginate.iterator(octokit.rest.issues.listForRepo, {
    ...repository,
    per_page: 2,
  }))
    numbers.push(...data.map(({ number }) => number));
  const created = await octokit.rest.issues.create({ ...repository, title: 'ä title', labels: ['bug'] });
  return {
    get: (await octokit.rest.repos.get(repository)).data,
    created: created.data,
    numbers,
    all: (await octokit.paginate(octokit.rest.issues.listForRepo, { ...repository, state: 'all' })).length,
    route: (await octokit.request('GET /repos/{owner}/{repo}', repository)).status,
    missing: await octokit.rest.repos.get({ ...repository, repo: 'none' }).catch(failure),
    denied: await octokit.rest.repos
      .delete(repository)
      .catch((error) => [error.name, error.cause?.cause?.code, error.cause?.cause?.reason]),
  };
});
