import type { SyscallArch } from './seccomp.ts';

/**
 * What our own programs for cells are made with, because the machines of users have no compiler: code for x86-64, and the
 * headers of a static ELF file around it. The same calls give the same bytes: they are part of images with reproducible ids.
 */

/** The processor of these programs. */
export const programArch: SyscallArch = 'x64';

/** Where a program's file is mapped; its addresses fit in 32 bits. */
export const loadAddress = 0x40_0000;

/** Code as it is written down. Labels are resolved to 32-bit displacements. */
export class Assembler {
  readonly bytes: number[] = [];
  readonly #labels = new Map<string, number>();
  readonly #jumps: { at: number; label: string }[] = [];

  emit(...bytes: number[]): this {
    this.bytes.push(...bytes);
    return this;
  }

  imm32(value: number): this {
    return this.emit(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff);
  }

  /** A jump: the opcode, then a displacement to the label. */
  jump(opcode: readonly number[], label: string): this {
    this.emit(...opcode);
    this.#jumps.push({ at: this.bytes.length, label });
    return this.imm32(0);
  }

  label(name: string): this {
    this.#labels.set(name, this.bytes.length);
    return this;
  }

  link(): Uint8Array {
    const code = Uint8Array.from(this.bytes);
    const view = new DataView(code.buffer);
    for (const { at, label } of this.#jumps) {
      const target = this.#labels.get(label);
      if (target === undefined) throw new TypeError(`no label ${label}`);
      view.setInt32(at, target - (at + 4), true);
    }
    return code;
  }
}

export const jmp = [0xe9] as const;
export const jz = [0x0f, 0x84] as const;
export const jnz = [0x0f, 0x85] as const;
export const jl = [0x0f, 0x8c] as const;
export const jae = [0x0f, 0x83] as const;
export const js = [0x0f, 0x88] as const;

const elfHeaderBytes = 64;
const programHeaderBytes = 56;

/** A part of the file and where it lies in memory: at `loadAddress` and its offset. */
export interface Segment {
  /** 4 read, 2 write, 1 execute. */
  flags: number;
  offset: number;
  /** Of the file; 0 for memory that is zero at the start. */
  bytes: number;
  memory: number;
}

/** Where what follows the headers begins in the file. */
export const headersBytes = (segments: number): number => elfHeaderBytes + segments * programHeaderBytes;

/** Write the headers of an executable that starts right behind them. */
export function writeHeaders(view: DataView, segments: readonly Segment[]): void {
  view.setUint32(0, 0x464c_457f, true); // \x7fELF
  view.setUint32(4, 0x0001_0102, true); // 64-bit, little-endian, version 1, System V
  view.setUint16(16, 2, true); // executable
  view.setUint16(18, 62, true); // x86-64
  view.setUint32(20, 1, true);
  view.setBigUint64(24, BigInt(loadAddress + headersBytes(segments.length)), true);
  view.setBigUint64(32, BigInt(elfHeaderBytes), true);
  view.setUint16(52, elfHeaderBytes, true);
  view.setUint16(54, programHeaderBytes, true);
  view.setUint16(56, segments.length, true);
  for (const [index, segment] of segments.entries()) writeSegment(view, headersBytes(index), segment);
}

function writeSegment(view: DataView, at: number, segment: Segment): void {
  view.setUint32(at, 1, true); // PT_LOAD
  view.setUint32(at + 4, segment.flags, true);
  view.setBigUint64(at + 8, BigInt(segment.bytes === 0 ? 0 : segment.offset), true);
  view.setBigUint64(at + 16, BigInt(loadAddress + segment.offset), true);
  view.setBigUint64(at + 24, BigInt(loadAddress + segment.offset), true);
  view.setBigUint64(at + 32, BigInt(segment.bytes), true);
  view.setBigUint64(at + 40, BigInt(segment.memory), true);
  view.setBigUint64(at + 48, 4096n, true);
}
