export type { CreateBody, HostConfig } from './create-body.ts';
export { createDockerDriver } from './driver.ts';
export type { EngineAddress } from './engine-address.ts';
export type { DockerDriverOptions } from './options.ts';
