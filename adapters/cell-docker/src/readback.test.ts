import { planRunCell } from '@glovebox/cell';
import type { Digest } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { makeCreateBody } from './create-body.ts';
import type { EngineContainer } from './engine-schemas.ts';
import { checkReadback } from './readback.ts';

const MiB = 1024 * 1024;
const image = `sha256:${'a'.repeat(64)}` as Digest;
const limits = { cpu: 1, memoryBytes: 128 * MiB, pids: 64, timeoutMs: 30_000, outputBytes: MiB, logBytes: MiB };
const files = { filesBytes: 0, filesCount: 0, scratchBytes: MiB };
const asked = makeCreateBody({
  plan: planRunCell(image, { ...limits, ...files }, 'ns'),
  uid: 70_000,
  labels: { owner: 'x' },
  marker: 'marker',
  seccomp: '{}',
  arch: 'x64',
});

/** What an honest engine tells of a container that it has made so and not started. */
const honest = (): EngineContainer => {
  const { HostConfig, Image, ...Config } = asked;
  return {
    Id: 'b'.repeat(64),
    Image,
    Path: asked.Cmd[0] ?? '',
    Args: asked.Cmd.slice(1),
    AppArmorProfile: '',
    State: { Status: 'created', Running: false, OOMKilled: false, ExitCode: 0, Error: '' },
    Config: { ...Config, Domainname: '' },
    HostConfig: { ...HostConfig, Annotations: null, CgroupParent: '', Init: null, AutoRemove: false },
  };
};
const config = (more: object) => (told: EngineContainer) => ({ ...told, Config: { ...told.Config, ...more } });
const hostConfig = (more: object) => (told: EngineContainer) => ({
  ...told,
  HostConfig: { ...told.HostConfig, ...more },
});

describe('what an engine says that it made', () => {
  it.each(['', 'docker-default'])('is taken where it is what it was told, with the profile %j', (AppArmorProfile) => {
    expect(() => checkReadback('docker', asked, { ...honest(), AppArmorProfile })).not.toThrow();
  });

  it.each<[string, string, (told: EngineContainer) => EngineContainer]>([
    ['another program', 'command-fixed', (told) => ({ ...told, Path: '/bin/sh' })],
    ['another argument', 'command-fixed', (told) => ({ ...told, Args: ['--inspect', ...told.Args] })],
    ['no profile though it has one', 'apparmor', (told) => ({ ...told, AppArmorProfile: 'unconfined' })],
    ['a profile of somebody', 'apparmor', (told) => ({ ...told, AppArmorProfile: 'loose' })],
    ['one that runs', 'not-started', (told) => ({ ...told, State: { ...told.State, Running: true } })],
    ['one that has run', 'not-started', (told) => ({ ...told, State: { ...told.State, Status: 'exited' } })],
    ['notes to the runtime', 'runtime', hostConfig({ Annotations: { 'run.oci.keep_original_groups': '1' } })],
    ['a cgroup elsewhere', 'cgroup-memory', hostConfig({ CgroupParent: '/elsewhere' })],
    ['a first process of its own', 'command-fixed', hostConfig({ Init: true })],
    ['one that goes by itself', 'ownership', hostConfig({ AutoRemove: true })],
    ['a domain', 'environment-fixed', config({ Domainname: 'example' })],
  ])('is refused by the property that is lost: %s', (_, property, change) => {
    expect(() => checkReadback('docker', asked, change(honest()))).toThrow(
      expect.objectContaining({ code: 'ENGINE_REFUSED', message: expect.stringContaining(`: ${property}.`) }) as Error,
    );
  });
});
