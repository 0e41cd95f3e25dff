import { gzipSync } from 'node:zlib';
import { type Service, sendJson } from './listen.ts';

/** An API of no provider in particular, with what general HTTP clients are used for. */
export function plainService(): Service {
  const tries = new Map<string, number>();
  return (request, response) => {
    const { method, path, query, headers, body } = request;
    switch (path) {
      case '/hello':
        return sendJson(response, { hello: query.get('name') ?? 'world', by: request.protocol });
      case '/echo':
        return sendJson(response, {
          method,
          type: String(headers['content-type'] ?? '').split(';')[0],
          bytes: body.length,
          text: body.length > 1000 ? null : body.toString(),
          agent: headers['user-agent'] ?? null,
          custom: headers['x-custom'] ?? null,
          cookie: headers.cookie ?? null,
        });
      case '/gzip':
        return void response
          .writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip', vary: 'accept-encoding' })
          .end(gzipSync('unpacked'));
      case '/moved':
        return void response.writeHead(302, { location: '/hello?name=moved' }).end();
      case '/moved-as-it-is':
        return void response.writeHead(307, { location: '/echo' }).end();
      case '/cookies':
        return void response.writeHead(200, { 'set-cookie': ['a=1; Path=/', 'b=2; Path=/'] }).end('set');
      case '/bytes':
        return void response
          .writeHead(200, { 'content-length': query.get('n') ?? '0', 'content-type': 'application/octet-stream' })
          .end(Buffer.alloc(Number(query.get('n')), 'x'));
      case '/items': {
        const page = Number(query.get('page') ?? 1);
        const link = page < 3 ? { link: `<https://${request.host}/items?page=${page + 1}>; rel="next"` } : {};
        return sendJson(response, [page * 10, page * 10 + 1], 200, link);
      }
      case '/flaky': {
        const key = query.get('key') ?? '';
        const nth = (tries.get(key) ?? 0) + 1;
        tries.set(key, nth);
        if (nth > 1) return sendJson(response, { nth });
        return void response.writeHead(503, { 'retry-after': '0' }).end();
      }
      case '/events':
        return void response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end('id: 1\ndata: one\n\nevent: named\ndata: two\n\n');
      case '/silent':
        return undefined;
      default:
        return sendJson(response, { message: 'there is no such thing' }, 404);
    }
  };
}
