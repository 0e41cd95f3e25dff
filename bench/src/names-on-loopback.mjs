// Loaded before what is measured directly: every name is this host, as the dialer's table of hosts has it for cells.
import dns from 'node:dns';

dns.lookup = (_host, options, callback) => {
  const done = typeof options === 'function' ? options : callback;
  queueMicrotask(() => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)));
};
