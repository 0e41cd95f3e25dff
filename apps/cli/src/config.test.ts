import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { openDriver } from './adapters.ts';
import { type Config, defaultCells, loadConfig } from './config.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'glovebox-config-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

function load(text: string): Promise<Config> {
  writeFileSync(join(dataDir, 'glovebox.yaml'), text, { mode: 0o600 });
  return loadConfig(dataDir);
}

const tls = 'tls: { ca: /etc/ca.pem, cert: /etc/cert.pem, key: /etc/key.pem }';

describe('settings of cells', () => {
  it('are those of an OCI runtime in the class ns where nothing is said', async () => {
    expect(await load('')).toMatchObject(defaultCells);
  });

  it.each<[string, object]>([
    ['class: gvisor', { cellClass: 'gvisor' }],
    ['runtime: runsc', { runtime: 'runsc' }],
    ['acceptedRisks: [runtime-below-floor]', { acceptedRisks: ['runtime-below-floor'] }],
    [
      'driver: docker\ndocker: { host: "unix:///var/run/docker.sock", runtime: crun }',
      { driver: 'docker', docker: { host: 'unix:///var/run/docker.sock', runtime: 'crun' } },
    ],
    [`driver: docker\ndocker: { host: "tcp://[::1]:2376", ${tls} }`, { driver: 'docker' }],
    ['driver: celld\ncelld: { socket: /run/celld.sock }', { driver: 'celld', celld: { socket: '/run/celld.sock' } }],
    // What is set and not chosen is kept for doctor.
    ['docker: { host: "unix:///run/podman.sock" }', { driver: 'oci', docker: { host: 'unix:///run/podman.sock' } }],
  ])('may be %j', async (text, expected) => {
    expect(await load(text)).toMatchObject(expected);
  });

  it.each<[string, string, RegExp]>([
    ['driver: podman', '/driver', /oci, docker or celld/],
    ['driver: docker', '/docker', /unix:\/\/\/path/],
    ['driver: celld', '/celld', /socket/],
    ['class: kvm', '/class', /ns or gvisor/],
    ['class: [ns]', '/class', /ns or gvisor/],
    ['runtime: docker', '/runtime', /absolute path/],
    ['acceptedRisks: runtime-below-floor', '/acceptedRisks', /list/],
    ['acceptedRisks: [everything]', '/acceptedRisks/0', /runtime-below-floor/],
    ['acceptedRisks: [seccomp]', '/acceptedRisks/0', /scratch-inodes-unlimited/],
    ['docker: { runtime: crun }', '/docker/host', /host/],
    ['docker: { host: /var/run/docker.sock }', '/docker/host', /unix:/],
    ['docker: { host: "tcp://127.0.0.1:2375" }', '/docker', /tls/],
    [`docker: { host: "unix:///var/run/docker.sock", ${tls} }`, '/docker', /tls/],
    [`docker: { host: "tcp://127.0.0.1", ${tls} }`, '/docker/host', /port/],
    [`docker: { host: "tcp://user@host:2376", ${tls} }`, '/docker/host', /port/],
    ['docker: { host: "tcp://a:2376", tls: { ca: ca.pem, cert: /c, key: /k } }', '/docker/tls/ca', /absolute/],
    ['docker: { host: "unix:///s", exec: true }', '/docker', /nothing|may hold/],
    ['docker: { host: "unix:///s", runtime: "../runc" }', '/docker/runtime', /runtime/],
    ['docker: { host: "TCP://a:2375" }', '/docker/host', /tcp:/],
    [`docker: { host: "tcp://a:99999", ${tls} }`, '/docker', /port/],
    ['driver: docker\ndocker: { host: "unix:///s" }\nruntime: crun', '/runtime', /driver oci/],
    ['driver: celld\ncelld: { socket: /s }\nacceptedRisks: [runtime-below-floor]', '/acceptedRisks', /celld/],
    ['celld: { socket: celld.sock }', '/celld/socket', /absolute/],
    ['celld: /run/celld.sock', '/celld', /socket/],
    ['clas: gvisor', '/clas', /did you mean class/],
  ])('may not be %j', async (text, path, says) => {
    const error = await load(text).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GloveboxError);
    expect(error).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(says),
      place: { file: join(dataDir, 'glovebox.yaml'), path, line: text.split('\n').length },
    });
  });

  it('that name a certificate which cannot be read are refused before anything is asked of the engine', async () => {
    const config = await load(
      `driver: docker\ndocker: { host: "tcp://127.0.0.1:1", ${tls.replace('/etc/ca', '/none/ca')} }`,
    );
    await expect(openDriver(config, 'ins_0' as never)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('docker.tls.ca'),
    });
  });

  it('choose what makes cells', async () => {
    const name = async (text: string): Promise<string> => (await openDriver(await load(text), 'ins_0' as never)).name;
    expect(await name('')).toBe('oci');
    expect(await name('driver: docker\ndocker: { host: "unix:///nowhere.sock" }')).toBe('docker');
  });
});

describe('settings of egress', () => {
  it('name nothing where nothing is said', async () => {
    expect((await load('')).egress).toEqual({ extraCa: [], hosts: {} });
    expect((await load('egress: {}')).egress).toEqual({ extraCa: [], hosts: {} });
  });

  it('may name a proxy, certificates and hosts', async () => {
    const text = `egress:
  proxy: http://user:secret@proxy.example.com:3128
  extraCa: [/etc/ca.pem]
  hosts: { git.internal: 10.1.2.3, six: "fd00::1" }
`;
    expect((await load(text)).egress).toEqual({
      proxy: 'http://user:secret@proxy.example.com:3128',
      extraCa: ['/etc/ca.pem'],
      hosts: { 'git.internal': '10.1.2.3', six: 'fd00::1' },
    });
  });

  it.each<[string, string]>([
    ['egress: { proxy: "socks5://p:1080" }', '/egress/proxy'],
    ['egress: { proxy: proxy.example.com }', '/egress/proxy'],
    ['egress: { extraCa: /etc/ca.pem }', '/egress/extraCa'],
    ['egress: { extraCa: [ca.pem] }', '/egress/extraCa/0'],
    ['egress: { hosts: { a.example.com: "127.1" } }', '/egress/hosts/a.example.com'],
    ['egress: { hosts: { a.example.com: 0x7f000001 } }', '/egress/hosts/a.example.com'],
    ['egress: { hosts: { a.example.com: "[::1]" } }', '/egress/hosts/a.example.com'],
    ['egress: { hosts: { a.example.com: localhost } }', '/egress/hosts/a.example.com'],
    ['egress: { hosts: { A.example.com: 127.0.0.1 } }', '/egress/hosts/A.example.com'],
    ['egress: { hosts: { "*.example.com": 127.0.0.1 } }', '/egress/hosts/*.example.com'],
    ['egress: { allow: all }', '/egress'],
    ['egress: off', '/egress'],
  ])('may not be %j', async (text, path) => {
    const error = await load(text).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('egress holds nothing but'),
      place: { file: join(dataDir, 'glovebox.yaml'), path, line: 1 },
    });
    expect((error as GloveboxError).message).not.toContain('socks5');
  });
});
