import { setTimeout as delay } from 'node:timers/promises';
import { type Service, sendJson } from './listen.ts';

/** Of OpenAI's API: models, chat in one and as a stream, embeddings, files; and a limit that is over after a moment. */
export function openaiService(): Service {
  let embeddings = 0;
  return ({ path, headers, body }, response) => {
    if (headers.authorization !== 'Bearer from-the-test')
      return sendJson(response, { error: { message: 'No key' } }, 401);
    switch (path) {
      case '/v1/models':
        return sendJson(response, {
          object: 'list',
          data: [
            { id: 'small', object: 'model' },
            { id: 'large', object: 'model' },
          ],
        });
      case '/v1/chat/completions': {
        const asked = JSON.parse(body.toString()) as {
          stream?: boolean;
          model: string;
          messages: { content: string }[];
        };
        const { stream, model } = asked;
        if (model === 'none')
          return sendJson(response, { error: { message: 'No such model', code: 'model_not_found' } }, 404);
        if (stream) {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          return void streamWords(['one ', 'two ', 'three'], (text) => response.write(text)).then(() => response.end());
        }
        const message = { role: 'assistant', content: `to ${asked.messages[0]?.content}` };
        return sendJson(response, { id: 'c1', object: 'chat.completion', choices: [{ index: 0, message }] });
      }
      case '/v1/embeddings':
        if (++embeddings === 1)
          return sendJson(response, { error: { message: 'Slow down' } }, 429, { 'retry-after-ms': '20' });
        return sendJson(response, {
          object: 'list',
          data: [{ index: 0, embedding: Buffer.from(new Float32Array([0.5, -2]).buffer).toString('base64') }],
        });
      case '/v1/files': {
        const text = body.toString();
        return sendJson(response, {
          id: 'file_1',
          filename: /filename="([^"]*)"/.exec(text)?.[1],
          purpose: /name="purpose"\r\n\r\n([^\r]*)/.exec(text)?.[1],
          bytes: body.length,
        });
      }
      default:
        return sendJson(response, { error: { message: 'No such path' } }, 404);
    }
  };
}

async function streamWords(words: readonly string[], write: (text: string) => void): Promise<void> {
  for (const content of words) {
    write(
      `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`,
    );
    await delay(20);
  }
  write('data: [DONE]\n\n');
}
