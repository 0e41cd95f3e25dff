import { type Service, sendJson } from './listen.ts';

const pages = 3;

/** Of GitHub's API: a repository, its issues by pages, and an issue more. */
export const githubService: Service = ({ method, path, query, headers, body }, response) => {
  if (headers.authorization !== 'token from-the-test') return sendJson(response, { message: 'Bad credentials' }, 401);
  if (path === '/repos/acme/widgets') return sendJson(response, { full_name: 'acme/widgets', stargazers_count: 7 });
  if (path === '/repos/acme/widgets/issues' && method === 'POST') {
    const { title, labels } = JSON.parse(body.toString()) as { title: string; labels: string[] };
    return sendJson(response, { number: 42, title, labels: labels.map((name) => ({ name })) }, 201);
  }
  if (path === '/repos/acme/widgets/issues') {
    const page = Number(query.get('page') ?? 1);
    const next = new URLSearchParams(query);
    next.set('page', `${page + 1}`);
    const link = `<https://api.github.com${path}?${next}>; rel="next"`;
    return sendJson(response, [{ number: page * 2 - 1 }, { number: page * 2 }], 200, page < pages ? { link } : {});
  }
  return sendJson(response, { message: 'Not Found', documentation_url: 'https://docs.github.com/rest' }, 404);
};
