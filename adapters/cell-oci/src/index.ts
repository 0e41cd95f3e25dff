export { createOciDriver } from './driver.ts';
export type { OciMount, OciSpec } from './oci-spec.ts';
export type { OciDriverOptions } from './options.ts';
export type { RuntimeChoice } from './runtime.ts';
