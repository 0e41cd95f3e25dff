import { z } from 'zod';
import { oneLine } from './engine-client.ts';

/** What is read of an engine's answers, and nothing else of them. */

/** Words for people, which get into messages and receipts: on one line, and without what a terminal would obey. */
const words = (maxCharacters: number) => z.string().max(maxCharacters).transform(oneLine);

/** What an engine goes by when it is told of something. Nothing of it can be changed, so what cannot be shown is refused. */
const name = (maxCharacters: number) =>
  z
    .string()
    .max(maxCharacters)
    .refine((text) => oneLine(text) === text, 'a name that can be shown');

const apiVersion = z.string().regex(/^\d{1,5}\.\d{1,5}$/);

const containerId = z.string().regex(/^[0-9a-f]{64}$/);

export const versionSchema = z.object({
  Version: words(200),
  ApiVersion: apiVersion,
  MinAPIVersion: apiVersion.optional(),
  Arch: words(50),
  Os: words(50),
  Components: z
    .array(
      z.object({
        Name: words(200),
        Version: words(200),
        Details: z.record(z.string(), words(500)).nullish(),
      }),
    )
    .max(50)
    .nullish(),
});
export type EngineVersion = z.infer<typeof versionSchema>;

/** All their names stand in one hint. */
const maxRuntimes = 50;

export const infoSchema = z.object({
  ID: z.string().max(200),
  Name: z.string().max(300),
  DockerRootDir: z.string().max(4096),
  MemoryLimit: z.boolean(),
  SwapLimit: z.boolean(),
  PidsLimit: z.boolean(),
  CpuCfsPeriod: z.boolean(),
  CpuCfsQuota: z.boolean(),
  CgroupDriver: words(50),
  CgroupVersion: words(10).optional(),
  OSType: words(50),
  Architecture: words(50),
  KernelVersion: words(200),
  Runtimes: z
    .record(name(200), z.looseObject({ path: z.string().max(1000).optional() }))
    .refine((known) => Object.keys(known).length <= maxRuntimes, `at most ${maxRuntimes} runtimes`)
    .nullish(),
  DefaultRuntime: name(200),
  SecurityOptions: z.array(z.string().max(500)).max(50).nullish(),
});
export type EngineInfo = z.infer<typeof infoSchema>;

export const createdSchema = z.object({ Id: containerId });

export const imageSchema = z.object({ Id: z.string().regex(/^(sha256:)?[0-9a-f]{64}$/) });

export const containerSchema = z.object({
  Id: containerId,
  Image: z.string().max(200),
  Path: z.string().max(4096),
  Args: z.array(z.string().max(20_000)).max(1_000),
  AppArmorProfile: z.string().max(200).default(''),
  State: z.object({
    Status: z.string().max(50),
    Running: z.boolean(),
    OOMKilled: z.boolean(),
    ExitCode: z.int(),
    Error: z.string().max(20_000),
  }),
  Config: z.looseObject({}),
  HostConfig: z.looseObject({}),
  Mounts: z.array(z.looseObject({})).nullish(),
  NetworkSettings: z.object({ Networks: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});
export type EngineContainer = z.infer<typeof containerSchema>;

export const listSchema = z.array(
  z.object({
    Id: containerId,
    State: z.string().max(50),
    Labels: z.record(z.string(), z.string()).nullish(),
  }),
);
export type ListedContainer = z.infer<typeof listSchema>[number];

/** Volumes of Podman. */
export const scratchSchema = z.array(
  z.object({ Name: z.string().max(1000), Labels: z.record(z.string(), z.string()).nullish() }),
);
export type ListedScratch = z.infer<typeof scratchSchema>[number];

export const statsSchema = z.object({
  pids_stats: z.object({ current: z.number().optional(), limit: z.number().optional() }).nullish(),
  memory_stats: z
    .object({ usage: z.number().optional(), max_usage: z.number().optional(), limit: z.number().optional() })
    .nullish(),
  cpu_stats: z.object({ throttling_data: z.object({ periods: z.number() }).nullish() }).nullish(),
});
export type EngineStats = z.infer<typeof statsSchema>;

/** Lines of JSON that tell how an image is taken in. */
export const loadLineSchema = z.object({ error: z.string().optional() });
