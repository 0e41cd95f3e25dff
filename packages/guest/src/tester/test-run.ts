import { defineProperty, runSoon } from '../harness/primordials.ts';
import { type TestEvent, TestEvents, type TestRun } from './test-events.ts';

const { run } = process.getBuiltinModule('node:test');

/**
 * Load the files of tests in order, run what they define, and call `done` in the very moment in which the runner has
 * counted it, before any other code has a turn. `done` does not return.
 *
 * The runner's events are taken where it emits them, by a method of the stream's own: listeners and the streams' prototypes
 * are at hand for author code.
 */
export function runTests(treePath: string, files: readonly string[], done: (run: TestRun) => never): void {
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
  // The event loop has nothing left to do. Either all tests have ended, and the runner's own listener, which comes first,
  // counts them before the next turn; or one waits for what can never happen, and the runner would wait for it with a timer.
  process.on('beforeExit', () => runSoon(() => done(seen.drained())));
}
