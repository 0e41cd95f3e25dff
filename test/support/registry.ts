import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PackageSource } from '@glovebox/engine';
import { createPackageSource } from '@glovebox/registry-npm';

/** A registry of npm on loopback, with the packages that a test puts there. */
export interface Registry {
  url: string;
  /** Path of each request, in order. */
  requests: string[];
  /**
   * Publish an archive under a name and version.
   *
   * @param metadata in place of what npm would take from the archive.
   * @returns its integrity.
   */
  publish(name: string, version: string, archive: Uint8Array, metadata?: object): string;
  /** Tell of the versions of a package that were published, and these times of them, as npm does for all versions in one. */
  tellTimes(name: string, times: { [version: string]: unknown }): void;
  /** What fetches from it, with a cache of its own unless one is given. */
  source(cacheDir?: string): PackageSource;
  close(): Promise<void>;
}

export const integrityOf = (bytes: Uint8Array): string =>
  `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

export async function openRegistry(): Promise<Registry> {
  const answers = new Map<string, string | Uint8Array>();
  const versions = new Map<string, object>();
  const requests: string[] = [];
  const home = mkdtempSync(join(tmpdir(), 'glovebox-registry-'));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    requests.push(path);
    const answer = answers.get(path);
    if (answer === undefined) response.writeHead(404).end('{}');
    else response.end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  let caches = 0;
  return {
    url,
    requests,
    publish(name, version, archive, metadata = {}) {
      const tarball = `/${name}/-/${name.replace(/^@[^/]+\//, '')}-${version}.tgz`;
      const integrity = integrityOf(archive);
      const dist = { integrity, tarball: new URL(tarball, url).href };
      const described = { name, version, ...metadata, dist };
      versions.set(name, { ...versions.get(name), [version]: described });
      answers.set(`/${name}/${version}`, JSON.stringify(described));
      answers.set(tarball, archive);
      return integrity;
    },
    tellTimes(name, time) {
      answers.set(`/${name}`, JSON.stringify({ name, versions: versions.get(name) ?? {}, time }));
    },
    source: (cacheDir = join(home, `cache-${caches++}`)) =>
      createPackageSource({ cacheDir, registry: url, env: { HOME: home } }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(home, { recursive: true, force: true });
    },
  };
}
