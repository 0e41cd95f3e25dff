import type { ServerStream } from '@glovebox/channel';
import {
  controlAuthority,
  GloveboxError,
  gatherBody,
  parseJson,
  type TestJob,
  type TestResult,
  testResultSchema,
} from '@glovebox/contract';
import { testControlPaths, testLimits } from '@glovebox/contract/build-limits';
import { corrupted } from '../builder-cell/build-channel.ts';

/**
 * The host's side of what a tests cell asks for once it has unpacked: it gives the job and takes one result.
 *
 * From the job on, author code runs in the process at the other end. A request out of turn, a result that does not bear the
 * nonce and one that comes second are taken for what they are: written by a test.
 */
export class TestChannel {
  readonly #job: TestJob;
  readonly #result = Promise.withResolvers<TestResult>();
  #phase: 'unpacked' | 'testing' | 'told' = 'unpacked';
  #broken = false;

  constructor(job: TestJob) {
    this.#job = job;
    // Who awaits the result may have left already.
    this.#result.promise.catch(() => {});
  }

  /** Rejects with GloveboxError `CHANNEL_CORRUPTED` when the cell does what the tester never does. */
  get result(): Promise<TestResult> {
    return this.#result.promise;
  }

  /** Whether author code has written to the channel; to be asked when the cell is dead. */
  get broken(): boolean {
    return this.#broken;
  }

  /** @throws GloveboxError `CHANNEL_CORRUPTED`. */
  async accept(stream: ServerStream): Promise<void> {
    try {
      await this.#route(stream);
    } catch (error) {
      this.#broken = true;
      // A stream that breaks in the middle is the cell's doing as much as any other thing that the tester never does.
      const problem = GloveboxError.is(error) ? error : corrupted('what it told broke off');
      this.#result.reject(problem);
      throw problem;
    }
  }

  async #route(stream: ServerStream): Promise<void> {
    const route = `${stream.head.method} ${stream.head.url}`;
    const base = `http://${controlAuthority}`;
    if (route === `GET ${base}${testControlPaths.job}` && this.#phase === 'unpacked') {
      this.#phase = 'testing';
      stream.respond({ status: 200, headers: {} });
      await stream.write(Buffer.from(JSON.stringify(this.#job)));
      stream.end();
      return;
    }
    if (route === `POST ${base}${testControlPaths.result}` && this.#phase === 'testing') {
      this.#phase = 'told';
      this.#result.resolve(await this.#read(stream));
      return;
    }
    throw corrupted(
      this.#phase === 'told' ? 'it told more than one result' : 'it made a request that is not expected of it',
    );
  }

  async #read(stream: ServerStream): Promise<TestResult> {
    const body = await gatherBody(stream.body, testLimits.resultBytes);
    if (body === undefined) throw corrupted('its result is too long');
    const parsed = parseJson(body.toString('utf8'), { maxBytes: testLimits.resultBytes, maxDepth: 8 });
    const result = parsed.ok ? testResultSchema.safeParse(parsed.value) : undefined;
    if (!result?.success) throw corrupted('its result has a wrong shape');
    if (result.data.nonce !== this.#job.nonce) throw corrupted('its result does not come from the runner');
    return result.data;
  }
}
