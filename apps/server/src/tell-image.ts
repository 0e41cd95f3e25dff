/** Tell a line about an image that is made on first use; none says that it begins. */
export function tellImage(
  { tell }: { tell: (event: { event: 'step'; step: 'image'; detail?: string }) => void },
  line: string | undefined,
): void {
  tell({ event: 'step', step: 'image', ...(line === undefined ? {} : { detail: line }) });
}
