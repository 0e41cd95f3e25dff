import { GloveboxError } from '@glovebox/contract';
import { Assembler, headersBytes, jae, jmp, js, jz, loadAddress, programArch, writeHeaders } from './assembler.ts';
import { type ProbeArgument, type ProbeCall, probeCalls, refusalErrno } from './syscalls.ts';

/**
 * A static x86-64 ELF program that makes the calls of a table and writes each result to fd 1. It is one loop over a table:
 * load six registers, `syscall`, write a record.
 *
 * Output: a header, one record per call in the order of the table, an end record. Then it enters the kernel by the 32-bit
 * gate, which a filter for x86-64 must answer with death; if it survives, one more record says so. All little-endian:
 * header `"GBSP", u32 count`, record `u32 index, u32 nr, i64 result`.
 */

/** The program's processor. On others nothing can show what a cell's filter refuses. */
export const sysprobeArch = programArch;

const entryBytes = 64;
const recordBytes = 16;
const headerBytes = 8;
const magic = 0x5053_4247;
const endIndex = 0xffff_ffff;
const survivedIndex = 0xffff_fffe;
/** Zeroed memory for calls that write; the largest is uname's 390 bytes. */
const scratchBytes = 4096;

const flagForks = 1;
const flagOpens = 2;

interface Addresses {
  table: number;
  record: number;
  header: number;
}

/** rbx: entry of the table. r12: count. r13: index. r14: result. The record and its address fit in 32 bits. */
function assembleCode(count: number, at: Addresses): Uint8Array {
  const asm = new Assembler();
  const write = (address: number, length: number) =>
    asm
      .emit(0xb8)
      .imm32(1) // mov eax, 1 (write)
      .emit(0xbf)
      .imm32(1) // mov edi, 1
      .emit(0xbe)
      .imm32(address) // mov esi, address
      .emit(0xba)
      .imm32(length) // mov edx, length
      .emit(0x0f, 0x05); // syscall
  const storeRecord = () => {
    asm
      .emit(0x44, 0x89, 0x2c, 0x25)
      .imm32(at.record) // mov [record], r13d
      .emit(0x89, 0x04, 0x25)
      .imm32(at.record + 4) // mov [record+4], eax
      .emit(0x4c, 0x89, 0x34, 0x25)
      .imm32(at.record + 8); // mov [record+8], r14
    write(at.record, recordBytes);
  };

  write(at.header, headerBytes);
  asm
    .emit(0xbb)
    .imm32(at.table) // mov ebx, table
    .emit(0x41, 0xbc)
    .imm32(count) // mov r12d, count
    .emit(0x45, 0x31, 0xed) // xor r13d, r13d
    .label('loop')
    .emit(0x4d, 0x39, 0xe5) // cmp r13, r12
    .jump(jae, 'end')
    .emit(0x48, 0x8b, 0x03) // mov rax, [rbx]
    .emit(0x48, 0x8b, 0x7b, 0x08) // mov rdi, [rbx+8]
    .emit(0x48, 0x8b, 0x73, 0x10) // mov rsi, [rbx+16]
    .emit(0x48, 0x8b, 0x53, 0x18) // mov rdx, [rbx+24]
    .emit(0x4c, 0x8b, 0x53, 0x20) // mov r10, [rbx+32]
    .emit(0x4c, 0x8b, 0x43, 0x28) // mov r8, [rbx+40]
    .emit(0x4c, 0x8b, 0x4b, 0x30) // mov r9, [rbx+48]
    .emit(0x0f, 0x05) // syscall
    .emit(0x49, 0x89, 0xc6) // mov r14, rax
    // A child of a fork that was not refused ends here, so that only one process writes.
    .emit(0xf6, 0x43, 0x38, flagForks) // test byte [rbx+56], forks
    .jump(jz, 'store')
    .emit(0x4d, 0x85, 0xf6) // test r14, r14
    .jump(jz, 'exit')
    .label('store')
    .emit(0x8b, 0x03); // mov eax, [rbx]
  storeRecord();
  asm
    .emit(0xf6, 0x43, 0x38, flagOpens) // test byte [rbx+56], opens
    .jump(jz, 'next')
    .emit(0x4d, 0x85, 0xf6) // test r14, r14
    .jump(js, 'next')
    .emit(0xb8)
    .imm32(3) // mov eax, 3 (close)
    .emit(0x4c, 0x89, 0xf7) // mov rdi, r14
    .emit(0x0f, 0x05) // syscall
    .label('next')
    .emit(0x48, 0x83, 0xc3, entryBytes) // add rbx, 64
    .emit(0x49, 0xff, 0xc5) // inc r13
    .jump(jmp, 'loop')
    .label('end')
    .emit(0x41, 0xbd)
    .imm32(endIndex) // mov r13d, end
    .emit(0x31, 0xc0) // xor eax, eax
    .emit(0x45, 0x31, 0xf6); // xor r14d, r14d
  storeRecord();
  asm
    .emit(0xb8)
    .imm32(20) // mov eax, 20 (getpid of i386)
    .emit(0xcd, 0x80) // int 0x80
    .emit(0x49, 0x89, 0xc6) // mov r14, rax
    .emit(0x41, 0xbd)
    .imm32(survivedIndex); // mov r13d, survived
  storeRecord();
  asm
    .label('exit')
    .emit(0xb8)
    .imm32(231) // mov eax, 231 (exit_group)
    .emit(0x31, 0xff) // xor edi, edi
    .emit(0x0f, 0x05); // syscall
  return asm.link();
}

/** The program for a table of calls. Deterministic: it is part of an image with a reproducible id. */
export function assembleSysprobe(calls: readonly ProbeCall[] = probeCalls): Uint8Array {
  // Two headers (code and data in one read-execute segment, writable memory in the other), then code, table, strings.
  const codeOffset = headersBytes(2);
  const codeBytes = assembleCode(calls.length, { table: 0, record: 0, header: 0 }).length;
  const tableOffset = align(codeOffset + codeBytes, 16);
  const headerOffset = tableOffset + calls.length * entryBytes;
  const textOffset = headerOffset + headerBytes;

  const texts = new Map<string, number>();
  let fileBytes = textOffset;
  for (const argument of calls.flatMap((call) => call.args)) {
    if (!isText(argument) || texts.has(argument.text)) continue;
    texts.set(argument.text, fileBytes);
    fileBytes += Buffer.byteLength(argument.text) + 1;
  }

  // Writable memory starts on a page of its own and has no bytes in the file.
  const writable = align(fileBytes, 4096);
  const recordAddress = loadAddress + writable;
  const scratchAddress = recordAddress + 64;

  const image = new Uint8Array(fileBytes);
  const view = new DataView(image.buffer);
  writeHeaders(view, [
    { flags: 5, offset: 0, bytes: fileBytes, memory: fileBytes },
    { flags: 6, offset: writable, bytes: 0, memory: 64 + scratchBytes },
  ]);
  image.set(
    assembleCode(calls.length, {
      table: loadAddress + tableOffset,
      record: recordAddress,
      header: loadAddress + headerOffset,
    }),
    codeOffset,
  );

  for (const [index, call] of calls.entries()) {
    if (call.args.length > 6) throw new TypeError(`${call.name} has more than six arguments`);
    const at = tableOffset + index * entryBytes;
    view.setBigUint64(at, BigInt(call.nr), true);
    for (const [position, argument] of call.args.entries()) {
      const value = isText(argument)
        ? BigInt(loadAddress + (texts.get(argument.text) ?? 0))
        : typeof argument === 'object'
          ? BigInt(scratchAddress + argument.scratch)
          : BigInt(argument);
      view.setBigUint64(at + 8 + position * 8, BigInt.asUintN(64, value), true);
    }
    view.setBigUint64(at + 56, BigInt((call.forks ? flagForks : 0) | (call.opens ? flagOpens : 0)), true);
  }
  view.setUint32(headerOffset, magic, true);
  view.setUint32(headerOffset + 4, calls.length, true);
  for (const [value, offset] of texts) image.set(Buffer.from(value), offset);
  return image;
}

const isText = (argument: ProbeArgument): argument is { text: string } =>
  typeof argument === 'object' && 'text' in argument;
const align = (value: number, to: number): number => Math.ceil(value / to) * to;

export interface ProbeOutcome {
  name: string;
  expect: ProbeCall['expect'];
  /** The return value, or minus the errno. */
  result: number;
  /** Whether it came out as expected. */
  asExpected: boolean;
}

export interface SysprobeReport {
  outcomes: ProbeOutcome[];
  /** Whether every call was made: false when the output is cut short. */
  complete: boolean;
  /** Whether a call by the 32-bit gate came back: a filter that knows only x86-64 calls would not see those. */
  survivedForeignGate: boolean;
}

/**
 * Read what the program wrote.
 *
 * @param unsafeBytes from a cell; a cut is told by `complete`, anything else that does not fit is refused.
 * @throws GloveboxError `HOST_UNSUPPORTED` when this is not the output for `calls`.
 */
export function readSysprobe(unsafeBytes: Uint8Array, calls: readonly ProbeCall[] = probeCalls): SysprobeReport {
  const view = new DataView(unsafeBytes.buffer, unsafeBytes.byteOffset, unsafeBytes.byteLength);
  if (
    unsafeBytes.length < headerBytes ||
    view.getUint32(0, true) !== magic ||
    view.getUint32(4, true) !== calls.length
  ) {
    throw new GloveboxError('HOST_UNSUPPORTED', { message: 'The system-call probe gave no readable output.' });
  }
  const outcomes: ProbeOutcome[] = [];
  let complete = false;
  let survivedForeignGate = false;
  for (let at = headerBytes; at + recordBytes <= unsafeBytes.length; at += recordBytes) {
    const index = view.getUint32(at, true);
    if (index === endIndex) complete = outcomes.length === calls.length;
    else if (index === survivedIndex) survivedForeignGate = true;
    else {
      const call = calls[index];
      if (call === undefined || index !== outcomes.length || view.getUint32(at + 4, true) !== call.nr) {
        throw new GloveboxError('HOST_UNSUPPORTED', { message: 'The system-call probe gave records out of order.' });
      }
      const result = Number(view.getBigInt64(at + 8, true));
      outcomes.push({ name: call.name, expect: call.expect, result, asExpected: isAsExpected(call, result) });
    }
  }
  return { outcomes, complete, survivedForeignGate };
}

/** ENOSYS is what some runtimes make a filter answer for calls that are newer than they are: nothing was done either. */
function isAsExpected(call: ProbeCall, result: number): boolean {
  if (call.expect === 'allowed') return result >= 0;
  return result === -refusalErrno[call.expect] || result === -refusalErrno.absent;
}
