export { createPackageSource, type PackageSourceOptions } from './package-source.ts';
export type { RegistryLimits } from './registry-client.ts';
