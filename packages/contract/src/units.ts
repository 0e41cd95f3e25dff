const sizeUnits = { B: 1, KiB: 1024, MiB: 1024 * 1024 } as const;
const durationUnits = { ms: 1, s: 1000, m: 60_000 } as const;

export const sizePattern = /^(\d{1,12})(B|KiB|MiB)$/;
export const durationPattern = /^(\d{1,9})(ms|s|m)$/;

/** `"32MiB"` in bytes; undefined when it is not a size. Units are B, KiB and MiB. */
export function parseSize(text: string): number | undefined {
  const match = sizePattern.exec(text);
  return match ? Number(match[1]) * sizeUnits[match[2] as keyof typeof sizeUnits] : undefined;
}

/** `"30s"` in milliseconds; undefined when it is not a duration. Units are ms, s and m. */
export function parseDuration(text: string): number | undefined {
  const match = durationPattern.exec(text);
  return match ? Number(match[1]) * durationUnits[match[2] as keyof typeof durationUnits] : undefined;
}

/** Bytes for people: the largest binary unit that keeps one digit before the point. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${((ms % 60_000) / 1000).toFixed(0)} s`;
}
