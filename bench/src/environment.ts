/** The whole environment of every program that is measured: a certificate store, for one, adds to the start of Node.js. */
export const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: '/nonexistent', LANG: 'C.UTF-8' };
