import type { TestRecord } from '@glovebox/contract';
import { testLimits } from '@glovebox/contract/build-limits';
import { textOf } from '@glovebox/sdk/context-rules';
import { messageOf, property } from '../harness/guest-error.ts';
import { defineProperty, indexOfText, sliceText } from '../harness/primordials.ts';

/** What the runner told. */
export interface TestRun {
  success: boolean;
  tests: TestRecord[];
  diagnostics: string[];
}

/** The part of the runner's events that is read. */
interface TestEvent {
  name: string;
  file?: string;
  line?: number;
  column?: number;
  testId: number;
  parentId: number | undefined;
  details: { type?: string; error?: unknown };
  skip?: unknown;
  todo?: unknown;
  nesting: number;
  message: string;
  success: boolean;
}

const { run } = process.getBuiltinModule('node:test');

/**
 * Load the files of tests in order, run what they define, and call `done` in the very moment in which the runner has
 * counted it, before any other code has a turn.
 *
 * The runner's events are taken where it emits them, by a method of the stream's own: listeners and the streams' prototypes
 * are at hand for author code.
 */
export function runTests(treePath: string, files: readonly string[], done: (run: TestRun) => void): void {
  const seen = new TestEvents(treePath, files);
  const stream = run({ isolation: 'none', cwd: treePath, files: files.map((file) => `${treePath}/${file}`) });
  const emit = (type: string, data: TestEvent): boolean => {
    seen.take(type, data);
    if (type === 'test:summary' && data.file === undefined) done(seen.end(data.success));
    return true;
  };
  defineProperty(stream, 'emit', { value: emit });
  // Nobody reads the stream: what is pushed would only be kept.
  defineProperty(stream, 'push', { value: () => true });
}

class TestEvents {
  readonly #treePath: string;
  readonly #tests: TestRecord[] = [];
  readonly #diagnostics: string[] = [];
  /** The whole name of each test by its id: those that it is in, and its own. */
  readonly #names = { __proto__: null } as unknown as { [testId: number]: string };
  /** Absolute paths; the runner makes a test of this name for a file that has none, or cannot be loaded. */
  readonly #files = { __proto__: null } as unknown as { [path: string]: true };

  constructor(treePath: string, files: readonly string[]) {
    this.#treePath = treePath;
    for (const file of files) this.#files[`${treePath}/${file}`] = true;
  }

  take(type: string, data: TestEvent): void {
    if (type === 'test:enqueue') this.#name(data);
    else if (type === 'test:pass') this.#passed(data);
    else if (type === 'test:fail') this.#failed(data);
    else if (type === 'test:diagnostic' && data.nesting === 0) this.#diagnose(data.message);
  }

  end(success: boolean): TestRun {
    return { success, tests: this.#tests, diagnostics: this.#diagnostics };
  }

  #name({ testId, parentId, name }: TestEvent): void {
    const parent = parentId === undefined ? undefined : this.#names[parentId];
    this.#names[testId] = parent === undefined ? name : cut(`${parent} > ${name}`, testLimits.nameLength);
  }

  #passed(data: TestEvent): void {
    if (data.details.type === 'suite' || this.#isOfFile(data)) return;
    this.#add(data, data.skip !== undefined ? 'skipped' : data.todo !== undefined ? 'todo' : 'passed');
  }

  #failed(data: TestEvent): void {
    const { error, type } = data.details;
    if (data.todo !== undefined) {
      if (type !== 'suite') this.#add(data, 'todo');
      return;
    }
    const byOthers = textOf(error, 'failureType') === 'subtestsFailed';
    if (byOthers && type === 'suite') return;
    this.#add(data, 'failed', byOthers ? undefined : cut(reasonOf(error), testLimits.messageLength));
  }

  /** Errors in no test, as the runner words them; what else it has to say are counts. */
  #diagnose(message: string): void {
    if (indexOfText(message, 'Error:') !== 0 || this.#diagnostics.length >= testLimits.diagnostics) return;
    this.#diagnostics[this.#diagnostics.length] = cut(message, testLimits.messageLength);
  }

  #isOfFile({ name, line, column, nesting }: TestEvent): boolean {
    return nesting === 0 && line === 1 && column === 1 && this.#files[name] === true;
  }

  #add(data: TestEvent, verdict: TestRecord['verdict'], message?: string): void {
    const { file, line, column } = data;
    const name = this.#isOfFile(data) ? '' : cut(this.#names[data.testId] ?? data.name, testLimits.nameLength);
    this.#tests[this.#tests.length] = {
      name,
      verdict,
      ...(file === undefined ? {} : { place: { file: this.#relative(file), line: line ?? 0, column: column ?? 0 } }),
      ...(message === undefined ? {} : { message }),
    };
  }

  #relative(file: string): string {
    const prefix = `${this.#treePath}/`;
    return cut(indexOfText(file, prefix) === 0 ? sliceText(file, prefix.length) : file, 4096);
  }
}

/** The runner wraps what was thrown. */
function reasonOf(error: unknown): string {
  const cause = property(error, 'cause');
  if (typeof cause === 'string') return cause;
  return messageOf(cause ?? error);
}

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${sliceText(text, 0, length - 1)}…`;
