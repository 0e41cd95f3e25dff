import {
  Assembler,
  headersBytes,
  jl,
  jmp,
  jnz,
  loadAddress,
  programArch,
  type Segment,
  writeHeaders,
} from './assembler.ts';
import { stdioChannel } from './command.ts';

/**
 * A static x86-64 ELF program that a cell starts with where the engine passes nothing but the standard streams, and author
 * code is to run. It moves the channel off them and becomes its first argument, with the rest and the environment as they are:
 *
 * - fd 0 moves to `stdioChannel.readFd`, and /dev/null takes its place, open for reading alone;
 * - fd 1 moves to `stdioChannel.writeFd`, and fd 2 takes its place too: what is printed never gets into the channel.
 *
 * It is not done in the guest, because Node.js takes hold of the standard streams before it runs any script, and a native
 * crash or a warning of V8's would write into the channel. Where any call fails nothing else is tried: the cell ends with
 * `shimFailureCode` and a line on fd 2.
 */

/** The program's processor. On others such an engine's cells cannot start. */
export const stdioShimArch = programArch;

export const shimFailureCode = 126;

const syscalls = { write: 1, close: 3, execve: 59, exitGroup: 231, openat: 257, dup3: 292 } as const;
const atCurrentDirectory = -100;

const texts = {
  null: '/dev/null\0',
  usage: 'glovebox stdio: no program to become\n',
  input: 'glovebox stdio: fd 0 cannot be moved\n',
  output: 'glovebox stdio: fd 1 cannot be moved\n',
  empty: 'glovebox stdio: /dev/null cannot be fd 0\n',
  error: 'glovebox stdio: fd 2 cannot be fd 1 too\n',
  become: 'glovebox stdio: the program cannot be executed\n',
} as const;
type Text = keyof typeof texts;
const failures = ['usage', 'input', 'output', 'empty', 'error', 'become'] as const satisfies readonly Text[];

/** The program. Deterministic: it is part of an image with a reproducible id. */
export function assembleStdioShim(): Uint8Array {
  const codeOffset = headersBytes(1);
  // Addresses take the same room whatever they are.
  const textOffset = codeOffset + assembleCode(() => 0).length;
  const offsets = {} as Record<Text, number>;
  let fileBytes = textOffset;
  for (const [name, text] of Object.entries(texts)) {
    offsets[name as Text] = fileBytes;
    fileBytes += text.length;
  }

  const file = new Uint8Array(fileBytes);
  const only: Segment = { flags: 5, offset: 0, bytes: fileBytes, memory: fileBytes };
  writeHeaders(new DataView(file.buffer), [only]);
  file.set(
    assembleCode((name) => loadAddress + offsets[name]),
    codeOffset,
  );
  file.set(Buffer.from(Object.values(texts).join(''), 'latin1'), textOffset);
  return file;
}

function assembleCode(addressOf: (text: Text) => number): Uint8Array {
  const asm = new Assembler();
  const number = (call: keyof typeof syscalls) =>
    asm
      .emit(0xb8)
      .imm32(syscalls[call]) // mov eax, number
      .emit(0x0f, 0x05); // syscall
  /** Anything else is a failure: a descriptor in another place than it is meant for as much as an errno. */
  const mustReturn = (value: number, otherwise: Text) =>
    asm
      .emit(0x48, 0x3d)
      .imm32(value) // cmp rax, value
      .jump(jnz, otherwise);
  const edi = (value: number) => asm.emit(0xbf).imm32(value); // mov edi, value
  const esi = (value: number) => asm.emit(0xbe).imm32(value); // mov esi, value
  const edx = (value: number) => asm.emit(0xba).imm32(value); // mov edx, value
  const duplicate = (from: number, to: number, otherwise: Text) => {
    edi(from);
    esi(to);
    edx(0);
    number('dup3');
    mustReturn(to, otherwise);
  };

  // [rsp] is the number of arguments, and what is behind it their addresses, 0, and those of the environment.
  asm
    .emit(0x48, 0x83, 0x3c, 0x24, 2) // cmp qword [rsp], 2
    .jump(jl, 'usage');
  duplicate(0, stdioChannel.readFd, 'input');
  duplicate(1, stdioChannel.writeFd, 'output');
  edi(0);
  number('close');
  mustReturn(0, 'input');
  edi(atCurrentDirectory);
  esi(addressOf('null'));
  edx(0); // O_RDONLY
  number('openat');
  mustReturn(0, 'empty');
  duplicate(2, 1, 'error');
  asm
    .emit(0x48, 0x8b, 0x7c, 0x24, 16) // mov rdi, [rsp+16]
    .emit(0x48, 0x8d, 0x74, 0x24, 16) // lea rsi, [rsp+16]
    .emit(0x48, 0x8b, 0x14, 0x24) // mov rdx, [rsp]
    .emit(0x48, 0x8d, 0x54, 0xd4, 16); // lea rdx, [rsp+rdx*8+16]
  number('execve');
  asm.jump(jmp, 'become');

  for (const failure of failures) {
    asm.label(failure);
    esi(addressOf(failure));
    edx(texts[failure].length);
    asm.jump(jmp, 'tell');
  }
  asm.label('tell');
  edi(2);
  number('write');
  edi(shimFailureCode);
  number('exitGroup');
  return asm.link();
}
