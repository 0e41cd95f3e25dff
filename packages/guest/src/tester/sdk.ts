/** The SDK as authors have it at home, testing kit included: a package directory of the image. */
const sdkDirectory = '/toolchain/testing-sdk/';

/**
 * Resolve the SDK's names to the image's copy from here on, wherever they are imported from: a package of that name, or an
 * entry of package.json, cannot stand in for it.
 */
export function offerSdk(): void {
  const { createRequire, registerHooks } = process.getBuiltinModule('node:module');
  const { pathToFileURL } = process.getBuiltinModule('node:url');
  const { resolve } = createRequire(sdkDirectory);
  const sdk = pathToFileURL(resolve('@glovebox/sdk')).href;
  const testing = pathToFileURL(resolve('@glovebox/sdk/testing')).href;
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === '@glovebox/sdk') return { url: sdk, shortCircuit: true };
      if (specifier === '@glovebox/sdk/testing') return { url: testing, shortCircuit: true };
      return next(specifier, context);
    },
  });
}
