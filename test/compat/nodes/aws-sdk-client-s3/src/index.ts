import { Readable } from 'node:stream';
import {
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { defineNode } from '@glovebox/sdk';

const credentials = { accessKeyId: 'AKIDOFTHETEST', secretAccessKey: 'secret-of-the-test' };
const s3 = new S3Client({ region: 'us-east-1', credentials });
const Bucket = 'reports';

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  const elsewhere = { Bucket: 'another', Key: 'x' };
  if (ctx.input.denied) return (await s3.send(new GetObjectCommand(elsewhere))).ETag;
  const failure = (error: Error): unknown => error.name;
  const put = async (Key: string, Body: Buffer | string | Readable, ContentLength?: number): Promise<unknown> =>
    (
      await s3.send(
        new PutObjectCommand({ Bucket, Key, Body, ...(ContentLength === undefined ? {} : { ContentLength }) }),
      )
    ).ETag;
  const get = async (Key: string, Range?: string): Promise<string> => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key, ...(Range === undefined ? {} : { Range }) }));
    return (await Body?.transformToString()) ?? '';
  };
  const large = Buffer.alloc(3 * 1024 * 1024, 'y');
  const puts = [
    await put('text.txt', 'some text'),
    await put('ä/b c+d.txt', 'odd name'),
    await put('stream.txt', Readable.from([Buffer.from('streamed '), Buffer.from('up')]), 'streamed up'.length),
    // Of this size, with `Expect: 100-continue`.
    await put('large.bin', large),
  ];
  const keys: (string | undefined)[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket }))
    keys.push(...Contents.map(({ Key }) => Key));
  return {
    puts,
    got: [await get('text.txt'), await get('ä/b c+d.txt'), await get('stream.txt'), (await get('large.bin')).length],
    range: await get('text.txt', 'bytes=5-8'),
    head: (await s3.send(new HeadObjectCommand({ Bucket, Key: 'large.bin' }))).ContentLength,
    keys,
    missing: await get('none').catch(failure),
    wrongSecret: await new S3Client({ region: 'us-east-1', credentials: { ...credentials, secretAccessKey: 'other' } })
      .send(new GetObjectCommand({ Bucket, Key: 'text.txt' }))
      .catch(failure),
    denied: await s3.send(new GetObjectCommand(elsewhere)).catch((error) => [error.name, error.code, error.reason]),
  };
});
