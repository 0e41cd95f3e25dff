import type { TestRecord } from '@glovebox/contract';
import { testLimits } from '@glovebox/contract/build-limits';
import { textOf } from '@glovebox/sdk/context-rules';
import { messageOf } from '../harness/guest-error.ts';
import { indexOfText, sliceText } from '../harness/primordials.ts';
import { property } from '../harness/property.ts';

/** What the runner told. */
export interface TestRun {
  success: boolean;
  tests: TestRecord[];
  diagnostics: string[];
}

/** The part of the runner's events that is read. */
export interface TestEvent {
  name: string;
  file?: string;
  line?: number;
  column?: number;
  testId: number;
  parentId: number | undefined;
  /** `suite` or `test`; of events before the end. */
  type?: string;
  details: { type?: string; error?: unknown };
  skip?: unknown;
  todo?: unknown;
  nesting: number;
  message: string;
  success: boolean;
}

/** A test or suite that the runner has told of. */
interface Known {
  /** Names of what it is in, and its own. */
  name: string;
  parent: Known | undefined;
  event: TestEvent;
  isSuite: boolean;
  state: 'waiting' | 'running' | 'over';
  /** How many in it are running. */
  running: number;
}

/** What the runner's events come to, one after the other. Runs beside author code: every built-in is a primordial. */
export class TestEvents {
  readonly #treePath: string;
  readonly #tests: TestRecord[] = [];
  readonly #diagnostics: string[] = [];
  readonly #known: Known[] = [];
  readonly #byId = { __proto__: null } as unknown as { [testId: number]: Known };
  /** Absolute paths; the runner makes a test of this name for a file that has none, or cannot be loaded. */
  readonly #files = { __proto__: null } as unknown as { [path: string]: true };

  constructor(treePath: string, files: readonly string[]) {
    this.#treePath = treePath;
    for (const file of files) this.#files[`${treePath}/${file}`] = true;
  }

  take(type: string, data: TestEvent): void {
    if (type === 'test:enqueue') this.#learn(data);
    else if (type === 'test:dequeue') this.#move(data, 'running');
    else if (type === 'test:complete') this.#move(data, 'over');
    else if (type === 'test:pass') this.#passed(data);
    else if (type === 'test:fail') this.#failed(data);
    else if (type === 'test:diagnostic' && data.nesting === 0) this.#diagnose(data.message);
  }

  end(success: boolean): TestRun {
    return { success, tests: this.#tests, diagnostics: this.#diagnostics };
  }

  /** What is known when the event loop has nothing left to do, and tests run that it would have to wake. */
  drained(): TestRun {
    for (let i = 0; i < this.#known.length; i++) {
      const known = this.#known[i] as Known;
      if (known.isSuite || known.state !== 'running' || known.running > 0) continue;
      this.#add(known.event, 'failed', 'It waits for something that can never happen.');
    }
    return this.end(false);
  }

  #learn(event: TestEvent): void {
    const { testId, parentId } = event;
    const known: Known = {
      name: this.#wholeName(event),
      parent: parentId === undefined ? undefined : this.#byId[parentId],
      event,
      isSuite: event.type === 'suite',
      state: 'waiting',
      running: 0,
    };
    this.#byId[testId] = known;
    this.#known[this.#known.length] = known;
  }

  #move({ testId }: TestEvent, to: 'running' | 'over'): void {
    const known = this.#byId[testId];
    if (known === undefined || known.state === to) return;
    const { parent, state } = known;
    if (parent !== undefined) parent.running += to === 'running' ? 1 : state === 'running' ? -1 : 0;
    known.state = to;
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

  #wholeName({ name, parentId }: TestEvent): string {
    const parent = parentId === undefined ? undefined : this.#byId[parentId];
    return cut(parent === undefined ? name : `${parent.name} > ${name}`, testLimits.nameLength);
  }

  #isOfFile({ name, line, column, nesting }: TestEvent): boolean {
    return nesting === 0 && line === 1 && column === 1 && this.#files[name] === true;
  }

  #add(data: TestEvent, verdict: TestRecord['verdict'], message?: string): void {
    const { file, line, column } = data;
    this.#tests[this.#tests.length] = {
      name: this.#isOfFile(data) ? '' : this.#wholeName(data),
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
