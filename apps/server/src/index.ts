export { type App, type AppOptions, createApp, type Principal } from './app.ts';
