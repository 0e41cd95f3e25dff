import { z } from 'zod';
import { idPatterns } from './ids.ts';
import type { Json } from './json.ts';
import { parseDuration, parseSize } from './units.ts';

/** Bounds of the manifest. Bytes, milliseconds, cores. */
export const manifestLimits = {
  manifestBytes: 256 * 1024,
  manifestDepth: 48,
  schemaBytes: 64 * 1024,
  schemaDepth: 16,
  cpu: { min: 0.1, max: 4 },
  memoryBytes: { min: 64 * 1024 * 1024, max: 2048 * 1024 * 1024 },
  pids: { min: 16, max: 256 },
  timeoutMs: { min: 100, max: 600_000 },
  outputBytes: { min: 1024, max: 16 * 1024 * 1024 },
  logBytes: { min: 1024, max: 16 * 1024 * 1024 },
  scratchBytes: { min: 64 * 1024, max: 256 * 1024 * 1024 },
  filesBytes: { min: 1, max: 1024 * 1024 * 1024 },
  filesCount: { min: 1, max: 1000 },
} as const;

const size = (range: { min: number; max: number }) =>
  z.string().superRefine((text, ctx) => {
    const bytes = parseSize(text);
    if (bytes === undefined)
      ctx.addIssue({ code: 'custom', message: 'is not a size; write a number and B, KiB or MiB' });
    else if (bytes < range.min || bytes > range.max) {
      ctx.addIssue({ code: 'custom', message: `is out of range; from ${range.min}B to ${range.max}B` });
    }
  });

const duration = (range: { min: number; max: number }) =>
  z.string().superRefine((text, ctx) => {
    const ms = parseDuration(text);
    if (ms === undefined) ctx.addIssue({ code: 'custom', message: 'is not a duration; write a number and ms, s or m' });
    else if (ms < range.min || ms > range.max) {
      ctx.addIssue({ code: 'custom', message: `is out of range; from ${range.min}ms to ${range.max}ms` });
    }
  });

/** A JSON Schema of the author, not looked into here: it is checked where it may hurt nobody. */
const authorSchema = z.custom<{ [key: string]: Json }>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  { message: 'must be a JSON Schema object' },
);

const hostName = /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** One thing that a node may ask for. Patterns of paths: `*` is one segment, `**` at the end is all that follows. */
export const httpRuleSchema = z.strictObject({
  scheme: z.enum(['https', 'http']).default('https'),
  host: z.string().max(253).regex(hostName, 'must be a lower-case host name, or *. and one'),
  port: z.int().min(1).max(65_535).default(443),
  methods: z.array(z.enum(methods)).min(1).max(methods.length),
  paths: z.array(z.string().max(1024).startsWith('/')).min(1).max(64),
  /**
   * Whether a GET may become a WebSocket, over which bytes then go both ways. Without a default: a manifest that does not
   * name it is merged into artifacts as it always was, under the same digest.
   */
  websocket: z.boolean().exactOptional(),
  reason: z.string().min(1).max(300).optional(),
});
export type HttpRule = z.infer<typeof httpRuleSchema>;

const slotSchema = z.strictObject({
  kinds: z
    .array(z.enum(['bearer', 'basic', 'header', 'query', 'cookie', 'oauth2', 'aws-sigv4', 'hmac', 'tls-client']))
    .min(1)
    .max(9),
  required: z.boolean().default(true),
  hosts: z
    .array(
      z
        .string()
        .max(253)
        .regex(hostName, 'must be a lower-case host name')
        .refine((h) => !h.startsWith('*'), 'must not be a wildcard'),
    )
    .min(1)
    .max(32),
  reveal: z.boolean().default(false),
});

export const manifestSchema = z.strictObject({
  $schema: z.string().max(1024).optional(),
  schemaVersion: z.literal(1),
  id: z
    .string()
    .regex(idPatterns.node, 'must be 3 to 64 of a-z, 0-9 and hyphen, begin with a letter and not end with a hyphen'),
  title: z.string().min(1).max(120),
  description: z.string().max(4000).default(''),
  category: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be lower-case letters, digits and hyphens')
    .default('transform'),
  input: authorSchema,
  config: authorSchema.default({}),
  output: authorSchema,
  capabilities: z
    .strictObject({
      http: z
        .strictObject({
          rules: z.array(httpRuleSchema).min(1).max(100),
          maxRequests: z.int().min(1).max(10_000).default(50),
          maxResponseBytes: size({ min: 1024, max: 1024 * 1024 * 1024 }).default('10MiB'),
          maxRedirects: z.int().min(0).max(10).default(3),
        })
        .optional(),
      credentials: z
        .record(z.string().regex(/^[a-z][a-zA-Z0-9_-]{0,63}$/, 'must begin with a letter'), slotSchema)
        .optional(),
      scratch: z.strictObject({ maxBytes: size(manifestLimits.scratchBytes) }).optional(),
      files: z
        .strictObject({
          maxBytes: size(manifestLimits.filesBytes),
          maxCount: z.int().min(manifestLimits.filesCount.min).max(manifestLimits.filesCount.max).default(10),
        })
        .optional(),
    })
    .default({}),
  sideEffect: z.enum(['none', 'read', 'write']).default('none'),
  idempotent: z.boolean().default(false),
  resources: z
    .strictObject({
      cpu: z.number().min(manifestLimits.cpu.min).max(manifestLimits.cpu.max).default(0.5),
      memory: size(manifestLimits.memoryBytes).default('128MiB'),
      pids: z.int().min(manifestLimits.pids.min).max(manifestLimits.pids.max).default(64),
      timeout: duration(manifestLimits.timeoutMs).default('30s'),
      output: size(manifestLimits.outputBytes).default('256KiB'),
      logs: size(manifestLimits.logBytes).default('1MiB'),
    })
    .prefault({}),
});

/** node.json, complete: defaults filled in. */
export type Manifest = z.infer<typeof manifestSchema>;

/** JSON Schema (2020-12) of node.json, for editors. */
export function manifestJsonSchema(): { [key: string]: Json } {
  return z.toJSONSchema(manifestSchema, { io: 'input', unrepresentable: 'any', target: 'draft-2020-12' }) as {
    [key: string]: Json;
  };
}

/** What a run may use, in numbers. */
export interface RunLimits {
  cpu: number;
  memoryBytes: number;
  pids: number;
  timeoutMs: number;
  outputBytes: number;
  logBytes: number;
  scratchBytes: number;
  /** Both 0 where the manifest declares no files. */
  filesBytes: number;
  filesCount: number;
}

/** Scratch that every cell has, even where none is declared: `os.tmpdir()` must work. */
export const defaultScratchBytes = 1024 * 1024;

export function runLimits(manifest: Manifest): RunLimits {
  const { resources, capabilities } = manifest;
  return {
    cpu: resources.cpu,
    memoryBytes: sizeOf(resources.memory),
    pids: resources.pids,
    timeoutMs: durationOf(resources.timeout),
    outputBytes: sizeOf(resources.output),
    logBytes: sizeOf(resources.logs),
    scratchBytes: capabilities.scratch ? sizeOf(capabilities.scratch.maxBytes) : defaultScratchBytes,
    filesBytes: capabilities.files ? sizeOf(capabilities.files.maxBytes) : 0,
    filesCount: capabilities.files ? capabilities.files.maxCount : 0,
  };
}

function sizeOf(text: string): number {
  const bytes = parseSize(text);
  if (bytes === undefined) throw new RangeError(`${text} is not a size`);
  return bytes;
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new RangeError(`${text} is not a duration`);
  return ms;
}
