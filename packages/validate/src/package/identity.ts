import { idPatterns, type Json, manifestLimits, versionSchema } from '@glovebox/contract';
import { registryName } from '@glovebox/contract/package-name';
import { Findings } from '../findings.ts';
import { readJsonFile } from '../json/read.ts';
import { isObject } from '../json/value.ts';
import type { Identity } from '../node-package.ts';
import { manifestFile } from './manifest.ts';
import { packageJsonFile } from './package-json.ts';

const limits = { maxBytes: manifestLimits.manifestBytes, maxDepth: manifestLimits.manifestDepth };

/** What a package that has errors calls itself, as far as that can be believed. What is wrong with it is told elsewhere. */
export function identify(files: ReadonlyMap<string, Uint8Array>): Identity | undefined {
  const manifest = objectOf(files, manifestFile);
  const packageJson = objectOf(files, packageJsonFile);
  const id = nodeId(manifest.id) ?? nodeId(unscoped(packageJson.name));
  const version = versionSchema.safeParse(packageJson.version);
  if (id === undefined || !version.success) return undefined;
  const { title } = manifest;
  return { id, version: version.data, title: typeof title === 'string' && isTitle(title) ? title : id };
}

function objectOf(files: ReadonlyMap<string, Uint8Array>, file: string): { [key: string]: Json } {
  const bytes = files.get(file);
  const value =
    bytes === undefined ? undefined : readJsonFile(file, bytes, limits, 'PACKAGE_INVALID', new Findings())?.value;
  return isObject(value) ? value : {};
}

const nodeId = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && idPatterns.node.test(value) ? value : undefined;

/** A name that is none, such as `../other`, names no other node. */
const unscoped = (name: Json | undefined): Json | undefined =>
  typeof name === 'string' && registryName.test(name) ? name.slice(name.indexOf('/') + 1) : undefined;

const isTitle = (text: string): boolean => text.length >= 1 && text.length <= 120;
