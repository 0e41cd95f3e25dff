import { defineNode } from '@glovebox/sdk';
import * as p0 from 'base64-js';
import * as p1 from 'bignumber.js';
import * as p2 from 'bytes';
import * as p3 from 'camelcase';
import * as p4 from 'classnames';
import * as p5 from 'clsx';
import * as p6 from 'color-convert';
import * as p7 from 'csv-parse';
import * as p8 from 'd3-array';
import * as p9 from 'd3-geo';
import * as p10 from 'dayjs';
import * as p11 from 'decimal.js';
import * as p12 from 'deepmerge';
import * as p13 from 'diff';
import * as p14 from 'escape-string-regexp';
import * as p15 from 'eventemitter3';
import * as p16 from 'fast-json-stable-stringify';
import * as p17 from 'fraction.js';
import * as p18 from 'he';
import * as p19 from 'humanize-duration';
import * as p20 from 'iconv-lite';
import * as p21 from 'ieee754';
import * as p22 from 'immer';
import * as p23 from 'ini';
import * as p24 from 'js-base64';
import * as p25 from 'jsonpointer';
import * as p26 from 'lodash';
import * as p27 from 'long';
import * as p28 from 'marked';
import * as p29 from 'mime';
import * as p30 from 'minimatch';
import * as p31 from 'mitt';
import * as p32 from 'ms';
import * as p33 from 'nanoid';
import * as p34 from 'p-limit';
import * as p35 from 'p-map';
import * as p36 from 'p-queue';
import * as p37 from 'papaparse';
import * as p38 from 'picomatch';
import * as p39 from 'qs';
import * as p40 from 'ramda';
import * as p41 from 'semver';
import * as p42 from 'slugify';
import * as p43 from 'string-width';
import * as p44 from 'strip-ansi';
import * as p45 from 'tslib';
import * as p46 from 'uuid';
import * as p47 from 'wrap-ansi';
import * as p48 from 'yaml';
import * as p49 from 'zod';

/** Uses every one of its dependencies, so that none is left out of the bundle. */
const all: object[] = [
  p0,
  p1,
  p2,
  p3,
  p4,
  p5,
  p6,
  p7,
  p8,
  p9,
  p10,
  p11,
  p12,
  p13,
  p14,
  p15,
  p16,
  p17,
  p18,
  p19,
  p20,
  p21,
  p22,
  p23,
  p24,
  p25,
  p26,
  p27,
  p28,
  p29,
  p30,
  p31,
  p32,
  p33,
  p34,
  p35,
  p36,
  p37,
  p38,
  p39,
  p40,
  p41,
  p42,
  p43,
  p44,
  p45,
  p46,
  p47,
  p48,
  p49,
];

export default defineNode<object, object, { packages: number }>(async () => ({
  packages: all.filter((module) => Object.keys(module).length > 0).length,
}));
