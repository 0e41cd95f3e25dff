import { defineNode } from '@glovebox/sdk';
import OpenAI, { toFile } from 'openai';

const apiKey = 'from-the-test';
const openai = new OpenAI({ apiKey });

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  const elsewhere = new OpenAI({ apiKey, baseURL: 'https://elsewhere.test/v1' });
  if (ctx.input.denied) return elsewhere.models.list();
  const failure = (error: Error & { status?: number; code?: string | null }): unknown => [error.status, error.code];
  const models: string[] = [];
  for await (const { id } of openai.models.list()) models.push(id);
  const messages = [{ role: 'user' as const, content: 'me' }];
  let streamed = '';
  for await (const { choices } of await openai.chat.completions.create({ model: 'small', messages, stream: true }))
    streamed += choices[0]?.delta.content ?? '';
  const left = await openai.chat.completions.create({ model: 'small', messages, stream: true });
  for await (const _ of left) break;
  const chat = await openai.chat.completions.create({ model: 'small', messages });
  const embeddings = await openai.embeddings.create({ model: 'small', input: 'x' });
  return {
    models,
    chat: chat.choices[0]?.message.content,
    streamed,
    stopped: left.controller.signal.aborted,
    afterLimit: embeddings.data[0]?.embedding,
    file: {
      ...(await openai.files.create({ purpose: 'batch', file: await toFile(Buffer.from('{"a":1}\n'), 'in.jsonl') })),
    },
    missing: await openai.chat.completions.create({ model: 'none', messages }).catch(failure),
    denied: await elsewhere
      .withOptions({ maxRetries: 0 })
      .models.list()
      .catch((error) => [error.constructor.name, error.cause?.cause?.code, error.cause?.cause?.reason]),
  };
});
