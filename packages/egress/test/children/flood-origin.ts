import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/**
 * An origin in a process of its own, so that its memory is not counted as the dialer's. Arguments: `h1` or `h2`, and an
 * identity as JSON. `GET /down` sends 100 MiB, `POST /up` reads nothing until `GET /read` and then everything, `GET /written`
 * tells how much was written so far.
 */
const [protocol, identity = '{}'] = process.argv.slice(2);
const total = 100 * 1024 * 1024;
const chunk = Buffer.alloc(64 * 1024, 'x');
let written = 0;
let mayRead = false;
let readUpload = (): void => {};

const handle: import('../origins.ts').Handler = (request, response) => {
  if (request.url === '/down') {
    const write = (): void => {
      while (written < total) {
        written += chunk.byteLength;
        if (!response.write(chunk)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  } else if (request.url === '/up') {
    let received = 0;
    readUpload = () => {
      request.on('data', (part: Buffer) => {
        received += part.byteLength;
      });
      request.on('end', () => response.end(String(received)));
    };
    if (mayRead) readUpload();
  } else if (request.url === '/read') {
    mayRead = true;
    readUpload();
    response.end();
  } else response.end(String(written));
};

const settings = JSON.parse(identity) as { key: string; cert: string };
const server =
  protocol === 'h1'
    ? createServer(settings, handle)
    : createSecureServer({ ...settings, allowHTTP1: true }, handle as never);
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
