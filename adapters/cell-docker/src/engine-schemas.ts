import { z } from 'zod';

/** What is read of an engine's answers, and nothing else of them. */

const containerId = z.string().regex(/^[0-9a-f]{64}$/);

export const versionSchema = z.object({
  Version: z.string().max(200),
  ApiVersion: z.string().regex(/^\d+\.\d+$/),
  MinAPIVersion: z
    .string()
    .regex(/^\d+\.\d+$/)
    .optional(),
  Arch: z.string().max(50),
  Os: z.string().max(50),
  Components: z
    .array(
      z.object({
        Name: z.string().max(200),
        Version: z.string().max(200),
        Details: z.record(z.string(), z.string().max(500)).nullish(),
      }),
    )
    .max(50)
    .nullish(),
});
export type EngineVersion = z.infer<typeof versionSchema>;

export const infoSchema = z.object({
  ID: z.string().max(200),
  Name: z.string().max(300),
  DockerRootDir: z.string().max(4096),
  MemoryLimit: z.boolean(),
  SwapLimit: z.boolean(),
  PidsLimit: z.boolean(),
  CpuCfsPeriod: z.boolean(),
  CpuCfsQuota: z.boolean(),
  CgroupDriver: z.string().max(50),
  CgroupVersion: z.string().max(10).optional(),
  OSType: z.string().max(50),
  Architecture: z.string().max(50),
  KernelVersion: z.string().max(200),
  Runtimes: z.record(z.string(), z.looseObject({ path: z.string().max(1000).optional() })).nullish(),
  DefaultRuntime: z.string().max(200),
  SecurityOptions: z.array(z.string().max(500)).max(50).nullish(),
});
export type EngineInfo = z.infer<typeof infoSchema>;

export const createdSchema = z.object({ Id: containerId });

export const imageSchema = z.object({ Id: z.string().max(200) });

export const containerSchema = z.object({
  Id: containerId,
  Image: z.string().max(200),
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
