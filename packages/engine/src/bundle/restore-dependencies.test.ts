import { GloveboxError } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import type { LockedPackage, PackageSource } from '../ports.ts';
import { restoreDependencies } from './restore-dependencies.ts';

const locked = (path: string, version = '1.0.0'): LockedPackage => {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  return { path, name, version, integrity: `sha512-${name}@${version}` };
};

class Source implements PackageSource {
  registries = (): string[] => [];
  publishedAt = async (): Promise<undefined> => undefined;
  readonly asked: string[] = [];
  open = 0;
  most = 0;
  readonly #answer: (name: string) => Uint8Array;

  constructor(answer: (name: string) => Uint8Array = (name) => Buffer.from(name)) {
    this.#answer = answer;
  }

  async tarball({ name, version }: { name: string; version: string }): Promise<Uint8Array> {
    this.asked.push(`${name}@${version}`);
    this.most = Math.max(this.most, ++this.open);
    await new Promise((resolve) => setImmediate(resolve));
    this.open--;
    return this.#answer(name);
  }
}

describe('restoreDependencies', () => {
  it('gives the archives in the order of the lockfile, and fetches each package once', async () => {
    const source = new Source();
    const entries = ['node_modules/a', 'node_modules/b', 'node_modules/b/node_modules/a'].map((path) => locked(path));
    const tarballs = await restoreDependencies([...entries, locked('node_modules/c/node_modules/a', '2.0.0')], source);
    expect(tarballs.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()])).toEqual([
      ['node_modules/a', 'a'],
      ['node_modules/b', 'b'],
      ['node_modules/b/node_modules/a', 'a'],
      ['node_modules/c/node_modules/a', 'a'],
    ]);
    expect(source.asked.sort()).toEqual(['a@1.0.0', 'a@2.0.0', 'b@1.0.0']);
    expect(tarballs[0]?.bytes).toBe(tarballs[2]?.bytes);
    expect(await restoreDependencies([], source)).toEqual([]);
  });

  it('has no more downloads open than it may', async () => {
    const source = new Source();
    await restoreDependencies(
      Array.from({ length: 20 }, (_, i) => locked(`node_modules/p${i}`)),
      source,
    );
    expect(source.most).toBe(8);
  });

  it('stops at the first failure, with nothing going on in the background', async () => {
    const source = new Source((name) => {
      if (name === 'p2') throw new GloveboxError('DEPENDENCY_INTEGRITY');
      return Buffer.from(name);
    });
    const entries = Array.from({ length: 50 }, (_, i) => locked(`node_modules/p${i}`));
    await expect(restoreDependencies(entries, source)).rejects.toMatchObject({
      code: 'DEPENDENCY_INTEGRITY',
    });
    expect(source.open).toBe(0);
    expect(source.asked.length).toBeLessThan(20);
  });

  it('ends downloads midway when one fails or the whole is cancelled, and says why it was', async () => {
    class Slow extends Source {
      ended = 0;
      override async tarball(request: { name: string; version: string }, signal?: AbortSignal): Promise<Uint8Array> {
        if (request.name === 'p0') return await super.tarball(request);
        await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
        this.ended++;
        throw new GloveboxError('INTERRUPTED');
      }
    }
    const entries = [0, 1, 2, 3].map((i) => locked(`node_modules/p${i}`));
    const failing = new Slow(() => {
      throw new GloveboxError('DEPENDENCY_INTEGRITY');
    });
    await expect(restoreDependencies(entries, failing)).rejects.toMatchObject({ code: 'DEPENDENCY_INTEGRITY' });
    expect(failing.ended).toBe(3);
    const cancel = new AbortController();
    const cancelled = new Slow();
    const result = restoreDependencies(entries, cancelled, { signal: cancel.signal });
    setImmediate(() => cancel.abort());
    await expect(result).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(cancelled.ended).toBe(3);
  });

  it('refuses more bytes than the host may hold, and more packages than a build may have', async () => {
    const source = new Source(() => new Uint8Array(30 * 1024 * 1024));
    const entries = (count: number) => Array.from({ length: count }, (_, i) => locked(`node_modules/p${i}`));
    expect(await restoreDependencies(entries(4), source)).toHaveLength(4);
    await expect(restoreDependencies(entries(5), source)).rejects.toMatchObject({ code: 'DEPENDENCY_REFUSED' });
    await expect(restoreDependencies(entries(2001), source)).rejects.toMatchObject({ code: 'DEPENDENCY_REFUSED' });
  });

  it('asks for nothing when something stands in for the SDK, or when it is cancelled', async () => {
    const source = new Source();
    const sdk = [locked('node_modules/a'), locked('node_modules/@glovebox/sdk')];
    await expect(restoreDependencies(sdk, source)).rejects.toMatchObject({ code: 'DEPENDENCY_REFUSED' });
    await expect(
      restoreDependencies([locked('node_modules/a')], source, { signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(source.asked).toEqual([]);
  });
});
