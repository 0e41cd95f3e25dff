/** Who acts when the CLI works without a server. */
export function localActor(): string {
  return `local:uid=${process.getuid?.() ?? 0}`;
}
