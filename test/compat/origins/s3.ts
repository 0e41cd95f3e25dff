import type { ServerResponse } from 'node:http';
import { crc32 } from 'node:zlib';
import type { Service } from './listen.ts';
import { isSigned } from './signature-v4.ts';

/** One bucket of S3, which takes what is signed by `secret` and nothing else. */
export function s3Service(secret: string): Service {
  const objects = new Map<string, Buffer>();
  return (request, response) => {
    const { method, path, query, headers, body } = request;
    if (!isSigned(request, secret)) return sendError(response, 403, 'SignatureDoesNotMatch');
    if (method === 'PUT') {
      const content = headers['content-encoding'] === 'aws-chunked' ? withoutChunks(body) : body;
      if (content === undefined) return sendError(response, 400, 'IncompleteBody');
      objects.set(path, content);
      return void response.writeHead(200, { etag: `"${content.length}"` }).end();
    }
    if (query.get('list-type') === '2') {
      const keys = [...objects.keys()].map((key) => decodeURIComponent(key.slice(1))).sort();
      const from = keys.indexOf(query.get('continuation-token') ?? '') + 1;
      return sendXml(response, 200, listing(keys.slice(from, from + 2), from + 2 < keys.length));
    }
    const content = objects.get(path);
    if (content === undefined) return sendError(response, 404, 'NoSuchKey');
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(String(headers.range)) ?? [];
    const part = first === undefined ? content : content.subarray(Number(first), Number(last) + 1);
    response.writeHead(first === undefined ? 200 : 206, {
      'content-length': part.length,
      ...(first === undefined ? { 'x-amz-checksum-crc32': crc32Text(content) } : {}),
    });
    return void response.end(method === 'HEAD' ? undefined : part);
  };
}

const crc32Text = (content: Buffer): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(content));
  return bytes.toString('base64');
};

/** What `aws-chunked` holds, if the checksum at its end is right. */
function withoutChunks(body: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, end), 16);
    at = end + 2;
    if (!(size > 0)) break;
    parts.push(body.subarray(at, at + size));
    at += size + 2;
  }
  const content = Buffer.concat(parts);
  const [, checksum] = /^x-amz-checksum-crc32:(\S+)\r\n/.exec(body.toString('latin1', at)) ?? [];
  return checksum === crc32Text(content) ? content : undefined;
}

const listing = (keys: string[], more: boolean): string =>
  `<ListBucketResult><IsTruncated>${more}</IsTruncated>${more ? `<NextContinuationToken>${keys.at(-1)}</NextContinuationToken>` : ''}${keys
    .map((key) => `<Contents><Key>${key}</Key></Contents>`)
    .join('')}</ListBucketResult>`;

const sendError = (response: ServerResponse, status: number, code: string): void =>
  sendXml(response, status, `<Error><Code>${code}</Code><Message>of the test</Message></Error>`);

function sendXml(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${text}`);
}
