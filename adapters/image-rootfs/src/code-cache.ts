import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cellPaths } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';
import { programError } from './build-errors.ts';

/** A program for the start of every cell, with V8's bytecode for all of it. */
export interface Precompiled {
  /** What Node.js is started with. */
  loader: Uint8Array;
  script: Uint8Array;
  /** Empty where none could be made: the script is then compiled when it starts. */
  code: Uint8Array;
}

const deadlineMs = 30_000;

/** As the compiler and the loader both give it: V8 takes bytecode only for the same source under the same options. */
const scriptOptions = `{
  filename: ${JSON.stringify(cellPaths.harnessScript)},
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,`;

const loader = `'use strict';
const { readFileSync } = require('node:fs');
const { constants, Script } = require('node:vm');
const script = new Script(readFileSync(${JSON.stringify(cellPaths.harnessScript)}, 'latin1'), ${scriptOptions}
  cachedData: readFileSync(${JSON.stringify(cellPaths.harnessCode)}),
});
script.runInThisContext()(require);
`;

/**
 * Bytecode of every function, not of those alone that have run. V8 orders what it writes by its hash seed, which is fixed
 * by the command line so that the same source gives the same bytes. All flags are as they were again before it writes:
 * it notes them, and takes bytecode back under the same ones only.
 */
const compiler = `'use strict';
const { readFileSync, writeFileSync } = require('node:fs');
const { setFlagsFromString } = require('node:v8');
const { constants, Script } = require('node:vm');
setFlagsFromString('--no-lazy');
const script = new Script(readFileSync(process.argv[1], 'latin1'), ${scriptOptions}
});
setFlagsFromString('--lazy');
setFlagsFromString('--hash-seed=0');
writeFileSync(process.argv[2], script.createCachedData());
`;

/**
 * Compile a CommonJS bundle of ours ahead: parsing and compiling is most of what the harness adds to the start of Node.js.
 *
 * Bytecode is input to V8 like a native program: it is made here from our own source, by the Node.js that runs this, and
 * only where that is the very version of the image. Where V8 refuses it after all, it compiles the script.
 *
 * @throws GloveboxError `IMAGE_BUILD_FAILED`, `DISK_FULL`.
 */
export async function precompile(bundle: Uint8Array, nodeVersion: string, staging: string): Promise<Precompiled> {
  const script = Buffer.concat([Buffer.from('(function (require) {'), bundle, Buffer.from('\n})')]);
  // Read as ISO 8859-1, one byte a character.
  if (script.some((byte) => byte > 127)) throw failed('it is not all ASCII.');
  const code = nodeVersion === process.versions.node ? await compile(script, staging) : new Uint8Array();
  return { loader: Buffer.from(loader), script, code };
}

async function compile(script: Uint8Array, staging: string): Promise<Uint8Array> {
  const source = join(staging, 'precompiled.js');
  const target = join(staging, 'precompiled.code');
  try {
    await writeFile(source, script);
    await promisify(execFile)(process.execPath, ['--hash-seed=1', '-e', compiler, source, target], {
      env: {},
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
    });
    return await readFile(target);
  } catch (error) {
    throw await programError(error, staging, failed);
  }
}

const failed = (reason: string): GloveboxError =>
  new GloveboxError('IMAGE_BUILD_FAILED', { message: `The harness could not be compiled ahead: ${reason}` });
