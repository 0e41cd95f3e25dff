// An origin over TLS in a process of its own: key and certificate as JSON on stdin, its port on stdout. It ends with stdin.
import { createServer } from 'node:https';

const block = Buffer.alloc(65_536, 'glovebox');
const event = `data: ${'x'.repeat(93)}\n\n`;
const eventsPerTick = 20;
const tickMs = 1;

const answers = {
  small: (response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ text: 'x'.repeat(1000) })),
  bytes(response, count) {
    response.setHeader('content-length', count);
    let left = count;
    const more = () => {
      while (left > 0) {
        const part = left < block.length ? block.subarray(0, left) : block;
        left -= part.length;
        if (!response.write(part)) return response.once('drain', more);
      }
      response.end();
    };
    more();
  },
  events(response, count) {
    response.setHeader('content-type', 'text/event-stream');
    let left = count;
    const timer = setInterval(() => {
      if (response.writableNeedDrain) return;
      for (let i = 0; i < eventsPerTick && left > 0; i++, left--) response.write(event);
      if (left > 0) return;
      clearInterval(timer);
      response.end();
    }, tickMs);
    response.on('close', () => clearInterval(timer));
  },
};

let stdin = '';
process.stdin.on('data', (chunk) => {
  stdin += chunk;
  if (!stdin.endsWith('\n')) return;
  const server = createServer({ ...JSON.parse(stdin), keepAliveTimeout: 60_000 }, (request, response) => {
    const [, , kind, count] = request.url.split('/');
    const answer = answers[kind];
    if (answer === undefined) response.writeHead(404).end();
    else answer(response, Number(count));
  });
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
});
process.stdin.on('end', () => process.exit(0));
