import { once } from 'node:events';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { builderStreams, joinStreams, splitAtMarker } from './stdio-streams.ts';

const marker = Buffer.from('#marker#');
const channelText = 'what the builder says #mar';
const toolText = 'what the tool says #marker# and more';
const whole = Buffer.from(`${channelText}#marker#${toolText}`);

async function textOf(readable: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of readable) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Turns of the event loop, for what must not happen. */
async function rest(): Promise<void> {
  for (let i = 0; i < 20; i++) await turn();
}

describe('bytes with a marker in them', () => {
  it('are split there, wherever a chunk ends', async () => {
    for (let cut = 0; cut <= whole.length; cut++) {
      const { channel, stdout } = splitAtMarker(Readable.from([whole.subarray(0, cut), whole.subarray(cut)]), marker);
      expect([await textOf(channel), await textOf(stdout)], `cut at ${cut}`).toEqual([channelText, toolText]);
    }
  });

  it('are split there when they come one by one, and when both halves are read at once', async () => {
    const bytes = Array.from(whole, (byte) => Buffer.of(byte));
    const { channel, stdout } = splitAtMarker(Readable.from(bytes), marker);
    expect(await Promise.all([textOf(stdout), textOf(channel)])).toEqual([toolText, channelText]);
  });

  it.each([
    ['all', '', ''],
    ['at the end', 'channel', ''],
    ['at the beginning', '', 'stdout'],
  ])('may have it there: %s', async (_, before, after) => {
    const { channel, stdout } = splitAtMarker(Readable.from([Buffer.from(`${before}#marker#${after}`)]), marker);
    expect([await textOf(channel), await textOf(stdout)]).toEqual([before, after]);
  });

  it('are all of the channel, to the last byte, when they end without it', async () => {
    for (const text of ['', 'nothing of it', 'and a beginning of it: #marker']) {
      const { channel, stdout } = splitAtMarker(Readable.from([Buffer.from(text)]), marker);
      expect([await textOf(channel), await textOf(stdout)]).toEqual([text, '']);
    }
  });

  it('tell of it once, before what comes after it can be read', async () => {
    const source = new PassThrough();
    let times = 0;
    let read = 0;
    const { channel, stdout } = splitAtMarker(source, marker, () => {
      times++;
      expect(read).toBe(0);
    });
    stdout.on('data', (chunk: Buffer) => {
      read += chunk.length;
    });
    channel.resume();
    source.end(whole);
    await once(stdout, 'end');
    expect({ times, read }).toEqual({ times: 1, read: toolText.length });
  });
});

describe('a source', () => {
  const chunk = Buffer.alloc(16 * 1024, 'x');
  /** Gives chunks for ever, counted, after `first`. */
  function endless(first: Buffer): { source: Readable; given: () => number } {
    let given = 0;
    const source = new Readable({
      read() {
        setImmediate(() => this.push(given++ === 0 ? first : chunk));
      },
    });
    return { source, given: () => given };
  }

  it('is read no further than the reader of the channel reads, and goes on with it', async () => {
    const { source, given } = endless(chunk);
    const { channel, stdout } = splitAtMarker(source, marker);
    stdout.resume();
    await rest();
    const before = given();
    expect(before).toBeLessThan(20);
    channel.on('data', () => {});
    await rest();
    expect(given()).toBeGreaterThan(before + 5);
    source.destroy();
  });

  it('is read no further than the reader of the output reads, and goes on with it', async () => {
    const { source, given } = endless(Buffer.concat([marker, chunk]));
    const { channel, stdout } = splitAtMarker(source, marker);
    channel.resume();
    await once(channel, 'end');
    await rest();
    const before = given();
    expect(before).toBeLessThan(20);
    stdout.on('data', () => {});
    await rest();
    expect(given()).toBeGreaterThan(before + 5);
    source.destroy();
  });

  it('is read up to the marker for who wants only what comes after it', async () => {
    const source = Readable.from([...Array<Buffer>(50).fill(chunk), marker, Buffer.from('rest')]);
    const { channel, stdout } = splitAtMarker(source, marker);
    channel.destroy();
    expect(await textOf(stdout)).toBe('rest');
  });

  it('is destroyed when both halves are, and when the output is after the channel has ended', async () => {
    const early = new PassThrough();
    const both = splitAtMarker(early, marker);
    both.stdout.destroy();
    await rest();
    expect(early.destroyed).toBe(false);
    both.channel.destroy();
    await once(early, 'close');

    const late = new PassThrough();
    const halves = splitAtMarker(late, marker);
    late.write(whole);
    await textOf(halves.channel);
    halves.stdout.destroy();
    await once(late, 'close');

    const inBetween = new PassThrough();
    const left = splitAtMarker(inBetween, marker);
    left.stdout.destroy();
    left.channel.resume();
    inBetween.write(whole);
    await once(inBetween, 'close');
  });

  it.each([
    ['fails', new Error('reset')],
    ['is closed', undefined],
  ])('that %s before its end breaks both halves, and never looks like an end', async (_, error) => {
    const source = new PassThrough();
    const { channel, stdout } = splitAtMarker(source, marker);
    const read = Promise.allSettled([textOf(channel), textOf(stdout)]);
    source.write('some');
    await rest();
    source.destroy(error);
    expect((await read).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});

describe('a channel made of two streams', () => {
  it('passes on what is written, what is to be read, and both ends', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const channel = joinStreams(input, output);
    channel.end('to the cell');
    output.end('from the cell');
    expect(await Promise.all([textOf(input), textOf(channel)])).toEqual(['to the cell', 'from the cell']);
  });

  it('holds back a writer and a source whose other side does not read', async () => {
    const input = new PassThrough({ highWaterMark: 10 });
    const output = new PassThrough({ highWaterMark: 10 });
    const channel = joinStreams(input, output);
    channel.write(Buffer.alloc(100));
    let done = false;
    channel.write(Buffer.alloc(100), () => {
      done = true;
    });
    for (let i = 0; i < 20; i++) output.write(Buffer.alloc(64 * 1024));
    await rest();
    expect({ done, waits: output.writableNeedDrain }).toEqual({ done: false, waits: true });
    input.resume();
    channel.resume();
    output.end();
    await once(channel, 'end');
    expect({ done, rest: output.writableLength }).toEqual({ done: true, rest: 0 });
  });

  it('takes both streams along when it is destroyed, and what was written still goes out', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const channel = joinStreams(input, output);
    channel.write('last words');
    channel.destroy();
    await once(channel, 'close');
    expect(await textOf(input)).toBe('last words');
    expect(output.destroyed).toBe(true);
  });

  it.each(['input', 'output'] as const)('fails when its %s does', async (which) => {
    const streams = { input: new PassThrough(), output: new PassThrough() };
    const channel = joinStreams(streams.input, streams.output);
    const failed = once(channel, 'error');
    streams[which].destroy(new Error('reset'));
    expect(((await failed)[0] as Error).message).toBe('reset');
  });

  it('is closed, and has not ended, when its output is closed before its end', async () => {
    const output = new PassThrough();
    const channel = joinStreams(new PassThrough(), output);
    let ended = false;
    channel.on('end', () => {
      ended = true;
    });
    channel.resume();
    output.destroy();
    await once(channel, 'close');
    expect(ended).toBe(false);
  });
});

describe('the streams of a builder cell', () => {
  const sent = (input: PassThrough): string => {
    let text = '';
    for (let chunk = input.read() as Buffer | null; chunk !== null; chunk = input.read() as Buffer | null)
      text += chunk;
    return text;
  };

  it('are the channel first, and the tool only gets what comes after the marker, which the host says too', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const { channel, stdin, stdout } = builderStreams(input, output, marker);
    stdin.write('for the tool');
    channel.write('for the builder');
    await rest();
    expect(sent(input)).toBe('for the builder');

    output.write(`unpacked${marker}`);
    let said = '';
    channel.on('data', (chunk) => {
      said += chunk;
    });
    await once(channel, 'end');
    expect(said).toBe('unpacked');
    channel.write('too late');
    await rest();
    expect(sent(input)).toBe('#marker#for the tool');

    output.end('from the tool');
    stdin.end(' and its end');
    expect(await Promise.all([textOf(stdout), textOf(input)])).toEqual(['from the tool', ' and its end']);
  });

  it('leave the input open when the channel is let go after the marker, and the tool writes on', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const { channel, stdin } = builderStreams(input, output, marker);
    output.write(marker);
    channel.resume();
    await once(channel, 'end');
    channel.destroy();
    await rest();
    expect(input.writableEnded).toBe(false);
    stdin.end('tool');
    expect(await textOf(input)).toBe('#marker#tool');
  });

  it('end the input when the channel is let go before the marker, or the cell ends', async () => {
    for (const [how, act] of Object.entries({
      destroyed: (channel: Writable) => channel.destroy(),
      ended: (channel: Writable) => channel.end(),
    })) {
      const input = new PassThrough();
      const { channel, stdin } = builderStreams(input, new PassThrough(), marker);
      act(channel);
      expect(await textOf(input), how).toBe('');
      const refused = await new Promise<unknown>((resolve) => stdin.write('nobody is there', resolve));
      expect(refused, how).toBeInstanceOf(Error);
    }
  });

  it('tell the tool at once that there is nothing for it, when the driver has ended its input before', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const { channel, stdin } = builderStreams(input, output, marker);
    stdin.end();
    await rest();
    expect(input.writableEnded).toBe(false);
    output.write(marker);
    channel.resume();
    expect(await textOf(input)).toBe('#marker#');
  });

  it('break without a word where nobody uses the input of the tool, and tell who writes to it', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const { channel, stdin } = builderStreams(input, output, marker);
    output.write(marker);
    channel.resume();
    await once(channel, 'end');
    input.destroy(new Error('broken pipe'));
    await rest();
    expect(stdin.destroyed).toBe(true);
    expect(await new Promise((resolve) => stdin.write('x', resolve))).toBeInstanceOf(Error);
  });
});
