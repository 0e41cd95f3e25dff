import type { ErrorCode, Finding, Json } from '@glovebox/contract';
import { errorCatalogue, GloveboxError } from '@glovebox/contract/errors';
import { schemaLimits } from '../schema/limits.ts';
import type { SchemaProblem } from '../schema/problem.ts';
import { deadlines, JudgeChild } from './child-process.ts';
import type { OpenJudge, ValueJudge } from './port.ts';
import { type Answer, mapLimits, type ValueName, valueNames } from './protocol.ts';

/** By value: what does not fit its schema, and what is not JSON at all. */
const rules: Readonly<Record<ValueName, { invalid: ErrorCode; notJson: ErrorCode }>> = {
  input: { invalid: 'INPUT_INVALID', notJson: 'INPUT_NOT_JSON' },
  config: { invalid: 'CONFIG_VALUE_INVALID', notJson: 'CONFIG_VALUE_INVALID' },
  output: { invalid: 'OUTPUT_INVALID', notJson: 'OUTPUT_NOT_JSON' },
};

/**
 * Start a judge. Returns at once; the child starts and reads the schemas meanwhile, so open it early.
 *
 * Findings about schemas have `node.json` as their file and a path in it; findings about values a path in the value.
 */
export const openJudge: OpenJudge = (schemas) => new Judge(schemas);

class Judge implements ValueJudge {
  readonly #child = new JudgeChild();
  readonly #loaded: Promise<Answer>;

  constructor(schemas: Parameters<OpenJudge>[0]) {
    const texts = {
      input: schemaText(schemas.input),
      config: schemaText(schemas.config),
      output: schemaText(schemas.output),
    };
    const sizes = { input: texts.input.length, config: texts.config.length, output: texts.output.length };
    const body = Buffer.concat(valueNames.map((which) => texts[which]));
    this.#loaded = this.#child.call({ op: 'load', sizes }, body, deadlines.startMs).then(({ answer }) => answer);
    // Told to whoever asks next; until then nobody need listen.
    this.#loaded.catch(() => undefined);
  }

  async checkSchemas(): Promise<Finding[]> {
    const problems = await this.#problems();
    return valueNames.flatMap((which) => problems[which].map((problem) => schemaFinding(which, problem)));
  }

  async check(which: ValueName, valueText: string): Promise<Finding[]> {
    const problems = (await this.#problems())[which];
    if (problems.length > 0) return problems.map((problem) => schemaFinding(which, problem));

    const body = Buffer.from(valueText);
    const { invalid, notJson } = rules[which];
    if (body.length > schemaLimits.valueBytes) {
      return [valueFinding(invalid, '', `the ${which} is larger than ${schemaLimits.valueBytes} bytes`)];
    }
    const { answer } = await this.#child.call({ op: 'check', which }, body);
    if (answer.kind === 'judged') {
      return answer.misfits
        .slice(0, schemaLimits.misfits)
        .map(({ instancePath, schemaPath, message }) =>
          valueFinding(
            invalid,
            instancePath,
            `${which}${instancePath}: ${message}`,
            `So says ${which}${schemaPath} in node.json.`,
          ),
        );
    }
    if (answer.kind === 'not-json') {
      return answer.faults.map(({ reason, path, message }) =>
        valueFinding(reason === 'syntax' ? notJson : invalid, path, `${which}${path}: ${message}`),
      );
    }
    throw unexpected(answer);
  }

  async mapStack(stack: string, sourceMapText: string): Promise<string> {
    const head = Buffer.from(stack);
    const map = Buffer.from(sourceMapText);
    if (head.length > mapLimits.stackBytes || map.length > mapLimits.sourceMapBytes) return stack;
    try {
      const { answer, body } = await this.#child.call(
        { op: 'map', stackBytes: head.length },
        Buffer.concat([head, map]),
      );
      return answer.kind === 'mapped' ? body.toString() : stack;
    } catch {
      return stack;
    }
  }

  close(): void {
    this.#child.close();
  }

  async #problems(): Promise<Record<ValueName, SchemaProblem[]>> {
    const answer = await this.#loaded;
    if (answer.kind === 'loaded') return answer.problems;
    throw unexpected(answer);
  }
}

function unexpected(answer: Answer): GloveboxError {
  if (answer.kind === 'too-costly') {
    return new GloveboxError('SCHEMA_TOO_COSTLY', {
      message: `A value could not be checked against its schema: ${answer.message}.`,
    });
  }
  return new GloveboxError('INTERNAL', {
    message: answer.kind === 'failed' ? `The judge failed: ${answer.message}` : 'The judge answered something else.',
  });
}

/** As far as a child would read it: one byte over the limit tells as much as all of them. */
function schemaText(schema: Json): Buffer {
  let text: string;
  try {
    text = JSON.stringify(schema);
  } catch {
    // So deep that it cannot be written down: a text that is refused for the same reason stands in for it.
    text = '['.repeat(schemaLimits.depth + 1);
  }
  return Buffer.from(text).subarray(0, schemaLimits.bytes + 1);
}

function schemaFinding(which: ValueName, { rule, path, message, hint }: SchemaProblem): Finding {
  return {
    rule,
    severity: 'error',
    message: `${which}${path}: ${message}`,
    hint: hint ?? errorCatalogue[rule].hint,
    place: { file: 'node.json', path: `/${which}${path}` },
  };
}

function valueFinding(rule: ErrorCode, path: string, message: string, hint?: string): Finding {
  return { rule, severity: 'error', message, hint: hint ?? errorCatalogue[rule].hint, place: { path } };
}
