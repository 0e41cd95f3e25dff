import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ProbeCall } from './syscalls.ts';
import { probeCalls } from './syscalls.ts';
import { assembleSysprobe, readSysprobe } from './sysprobe.ts';

const home = mkdtempSync(join(tmpdir(), 'glovebox-sysprobe-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Harmless everywhere. The product's own table runs in cells alone: on a host much of it would succeed. */
const harmless: readonly ProbeCall[] = [
  { name: 'getpid', nr: 39, args: [], expect: 'allowed' },
  { name: 'fork', nr: 57, args: [], expect: 'denied', forks: true },
  { name: 'openat', nr: 257, args: [-100, { text: '/' }, 0x10000, 0], expect: 'allowed', opens: true },
  { name: 'openat:again', nr: 257, args: [-100, { text: '/' }, 0x10000, 0], expect: 'allowed', opens: true },
  { name: 'openat:none', nr: 257, args: [-100, { text: '/nonexistent' }, 0, 0], expect: 'allowed', opens: true },
  { name: 'uname', nr: 63, args: [{ scratch: 0 }], expect: 'allowed' },
  { name: 'none', nr: 9999, args: [], expect: 'denied' },
];

function run(calls: readonly ProbeCall[]): Buffer {
  const path = join(home, 'probe');
  writeFileSync(path, assembleSysprobe(calls), { mode: 0o755 });
  return spawnSync(path, { stdio: ['ignore', 'pipe', 'ignore'], env: {} }).stdout;
}

describe.skipIf(process.arch !== 'x64')('the assembled probe', () => {
  it('makes each call once, ends the child of a fork and closes what it opens', () => {
    const output = run(harmless);
    const { outcomes, complete } = readSysprobe(output, harmless);
    expect(complete).toBe(true);
    expect(outcomes.map(({ name, asExpected }) => `${name} ${asExpected}`)).toEqual([
      'getpid true',
      'fork false',
      'openat true',
      'openat:again true',
      'openat:none false',
      'uname true',
      'none true',
    ]);
    const result = (name: string) => outcomes.find((one) => one.name === name)?.result ?? 0;
    expect(result('getpid')).toBeGreaterThan(1);
    expect(result('openat:again')).toBe(result('openat'));
    expect(result('openat:none')).toBe(-2);
    expect(result('none')).toBe(-38);
  });

  it('is a static program that the host takes for one', () => {
    const path = join(home, 'static');
    writeFileSync(path, assembleSysprobe(), { mode: 0o755 });
    expect(execFileSync('/bin/sh', ['-c', `head -c 20 "${path}" | od -An -tx1`], { encoding: 'utf8' })).toContain(
      '7f 45 4c 46 02 01 01',
    );
  });
});

it('is the same bytes each time, as a part of an image with a reproducible id', () => {
  expect(Buffer.from(assembleSysprobe()).equals(Buffer.from(assembleSysprobe()))).toBe(true);
});

it('has calls with distinct names, at most six arguments and no number of another table', () => {
  expect(new Set(probeCalls.map(({ name }) => name)).size).toBe(probeCalls.length);
  expect(probeCalls.filter(({ args, nr }) => args.length > 6 || nr < 0 || nr > 500)).toEqual([]);
  expect(probeCalls.filter(({ expect: expected }) => expected === 'allowed').length).toBeGreaterThan(10);
  expect(() => assembleSysprobe([{ name: 'x', nr: 1, args: [1, 2, 3, 4, 5, 6, 7], expect: 'denied' }])).toThrow(
    TypeError,
  );
});

describe('the output of the probe', () => {
  const record = (index: number, nr: number, result: number): Buffer => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt32LE(index, 0);
    bytes.writeUInt32LE(nr, 4);
    bytes.writeBigInt64LE(BigInt(result), 8);
    return bytes;
  };
  const header = (count: number): Buffer => {
    const bytes = Buffer.from('GBSP\0\0\0\0');
    bytes.writeUInt32LE(count, 4);
    return bytes;
  };
  const calls = harmless.slice(0, 2);
  const whole = [header(2), record(0, 39, 7), record(1, 57, -1), record(0xffff_ffff, 0, 0)];

  it('is read whole', () => {
    expect(readSysprobe(Buffer.concat(whole), calls)).toMatchObject({
      complete: true,
      survivedForeignGate: false,
      outcomes: [{ asExpected: true }, { asExpected: true, result: -1 }],
    });
  });

  it('is incomplete when it is cut anywhere, never passed off as whole', () => {
    const bytes = Buffer.concat(whole);
    for (let length = 8; length < bytes.length; length++) {
      expect(readSysprobe(bytes.subarray(0, length), calls).complete, String(length)).toBe(false);
    }
    expect(readSysprobe(Buffer.concat([header(2), record(0xffff_ffff, 0, 0)]), calls).complete).toBe(false);
  });

  it('tells of a call by the 32-bit gate that came back', () => {
    expect(readSysprobe(Buffer.concat([...whole, record(0xffff_fffe, 20, 1)]), calls).survivedForeignGate).toBe(true);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['something else', Buffer.from('hello, world')],
    ['another table', Buffer.concat([header(3), record(0, 39, 7)])],
    ['records out of order', Buffer.concat([header(2), record(1, 57, -1)])],
    ['a record of another call', Buffer.concat([header(2), record(0, 57, -1)])],
    ['a record too many', Buffer.concat([...whole.slice(0, 3), record(2, 1, 0)])],
  ])('is refused when it is %s', (_, bytes) => {
    expect(() => readSysprobe(bytes, calls)).toThrow(expect.objectContaining({ code: 'HOST_UNSUPPORTED' }));
  });
});
