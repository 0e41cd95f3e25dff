import { z } from 'zod';
import { buildLimits } from './build-limits.ts';

const text = (max: number) => z.string().max(max);
const count = z.int().min(0);

/** Something that the builder found while it unpacked. Names in it come from hostile archives. */
export const unpackFindingSchema = z.strictObject({
  rule: z.enum([
    'ARCHIVE_REFUSED',
    'DEPENDENCY_REFUSED',
    'PACKAGE_FILE_REFUSED',
    'PACKAGE_NAME_REFUSED',
    'TYPES_SUPPRESSED',
  ]),
  message: text(2000),
  /** The dependency's place in the tree; absent for the author's own files. */
  package: text(4096).optional(),
  /** Path in the dependency, or in the author's package. */
  entry: text(4096).optional(),
});
export type UnpackFinding = z.infer<typeof unpackFindingSchema>;

export const unpackReportSchema = z.strictObject({
  files: count,
  packages: count,
  entries: count,
  bytes: count,
  findings: z.array(unpackFindingSchema).max(buildLimits.findings),
  /** Findings beyond the limit, which are not listed. */
  moreFindings: count,
  /** Files that hold WebAssembly, whatever their name: refused only when the bundle takes one in. */
  webAssembly: z.array(text(4096)).max(buildLimits.webAssemblyFiles),
  /** Settings of package managers that dependencies bring: nothing reads them; the first of them are told. */
  settings: z.array(text(4096)).max(buildLimits.settingsFiles),
});
export type UnpackReport = z.infer<typeof unpackReportSchema>;
