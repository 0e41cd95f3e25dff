import { manifestJsonSchema } from '@glovebox/contract';
import { sdkPackageFiles } from '@glovebox/sdk/tooling';

/**
 * What belongs into every author's package beside the package itself: types, the schema of node.json for editors, and the
 * test kit. Ignored by git and by Glovebox, and always written as this version has it.
 *
 * @returns path in the package → text.
 */
export function toolingFiles(): Map<string, string> {
  return new Map([
    ...sdkPackageFiles(),
    ['.glovebox/node.schema.json', `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`],
  ]);
}
