import type { TestRecord } from '@glovebox/contract';
import { testLimits } from '@glovebox/contract/build-limits';
import { quote, utf8Length } from '../harness/primordials.ts';
import type { TestRun } from './test-events.ts';
import type { TreeFile } from './tree.ts';

/** For what stands after the tests. */
const restBytes = 256 * 1024;

/**
 * A TestResult as JSON text, within the limits of the contract: tests beyond them are counted. Written by hand, since
 * `JSON.stringify` asks prototypes that author code may have changed.
 */
export function encodeResult(nonce: string, run: TestRun, files: TreeFile[]): string {
  const fileTexts: string[] = [];
  for (let i = 0; i < files.length; i++) {
    const { path, sha256 } = files[i] as TreeFile;
    fileTexts[i] = `{"path":${quote(path)},"sha256":${sha256 === null ? 'null' : quote(sha256)}}`;
  }
  const filesText = listOf(fileTexts);
  const diagnostics: string[] = [];
  for (let i = 0; i < run.diagnostics.length; i++) diagnostics[i] = quote(run.diagnostics[i] as string);

  const testTexts: string[] = [];
  let room = testLimits.resultBytes - restBytes - utf8Length(filesText);
  for (let i = 0; i < run.tests.length && i < testLimits.tests; i++) {
    const text = testText(run.tests[i] as TestRecord);
    room -= utf8Length(text) + 1;
    if (room < 0) break;
    testTexts[i] = text;
  }
  return (
    `{"nonce":${quote(nonce)},"success":${run.success === true},"tests":${listOf(testTexts)}` +
    `,"moreTests":${run.tests.length - testTexts.length},"diagnostics":${listOf(diagnostics)},"files":${filesText}}`
  );
}

function testText({ name, verdict, place, message }: TestRecord): string {
  let text = `{"name":${quote(name)},"verdict":${quote(verdict)}`;
  if (place !== undefined)
    text += `,"place":{"file":${quote(place.file)},"line":${place.line},"column":${place.column}}`;
  if (message !== undefined) text += `,"message":${quote(message)}`;
  return `${text}}`;
}

function listOf(texts: string[]): string {
  let text = '';
  for (let i = 0; i < texts.length; i++) text += `${i === 0 ? '' : ','}${texts[i]}`;
  return `[${text}]`;
}
