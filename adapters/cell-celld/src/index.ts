export { type CelldDriverOptions, createCelldDriver } from './driver.ts';
