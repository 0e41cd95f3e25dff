/** Something that is measured beside others where it is there; where it is not, `why` says so in the row's note. */
export type Variant<Value> = { ready: true; value: Value } | { ready: false; why: string };

/** What is opened for a benchmark is closed after it, the last one first. */
export type Closing = (close: () => unknown) => void;

export async function tryOpen<Value>(open: () => Promise<Value>): Promise<Variant<Value>> {
  try {
    return { ready: true, value: await open() };
  } catch (error) {
    return { ready: false, why: reasonOf(error) };
  }
}

/** One line: the code of an error of ours, and what it says. */
function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const said = (message ?? String(error)).trim().split('\n').at(-1) ?? '';
  return `${code === undefined ? '' : `${code}: `}${said}`.slice(0, 300);
}
