/** The code of a function that waits for an event of an emitter, or for its error. */
export const settle = `(emitter, event) => new Promise((done, fail) => emitter.on('error', fail).on(event, () => done('reached')))`;

/** Ways out that JavaScript has, for `attempting` with `settle`. `ctx.input` names the listeners of a host. */
export const waysOut: Record<string, string> = {
  fetch: `return (await fetch('http://127.0.0.1:' + ctx.input.tcp)).status`,
  'ctx.fetch': `return (await ctx.fetch('http://127.0.0.1:' + ctx.input.tcp)).status`,
  'http.get': `return await settle(builtin('http').get('http://127.0.0.1:' + ctx.input.tcp), 'response')`,
  'https.get': `return await settle(builtin('https').get('https://127.0.0.1:' + ctx.input.tcp), 'response')`,
  'http.get by a unix path': `return await settle(builtin('http').get({ socketPath: ctx.input.path }), 'response')`,
  'http.get by an Agent': `return await settle(builtin('http').get({ agent: new (builtin('http').Agent)(), host: '127.0.0.1', port: ctx.input.tcp }), 'response')`,
  'http2.connect': `return await settle(builtin('http2').connect('http://127.0.0.1:' + ctx.input.tcp), 'connect')`,
  'net.connect': `return await settle(builtin('net').connect(ctx.input.tcp, '127.0.0.1'), 'connect')`,
  'net.connect by name': `return await settle(builtin('net').connect(ctx.input.tcp, 'localhost'), 'connect')`,
  'net.connect by IPv6': `return await settle(builtin('net').connect(ctx.input.tcp, '::ffff:127.0.0.1'), 'connect')`,
  'net.connect to the host by its address': `return await settle(builtin('net').connect(ctx.input.tcp, ctx.input.address), 'connect')`,
  'net.connect to a metadata service': `return await settle(builtin('net').connect(80, '169.254.169.254'), 'connect')`,
  'net.connect to the world': `return await settle(builtin('net').connect(443, '1.1.1.1'), 'connect')`,
  'a socket of its own': `const s = new (builtin('net').Socket)(); s.connect(ctx.input.tcp, '127.0.0.1'); return await settle(s, 'connect')`,
  'tls.connect': `return await settle(builtin('tls').connect(ctx.input.tcp, '127.0.0.1'), 'secureConnect')`,
  'a unix path of the host': `return await settle(builtin('net').connect(ctx.input.path), 'connect')`,
  'an abstract name of the host': `return await settle(builtin('net').connect('\\0' + ctx.input.abstractName), 'connect')`,
  'the socket of Docker': `return await settle(builtin('net').connect('/var/run/docker.sock'), 'connect')`,
  'the socket of containerd': `return await settle(builtin('net').connect('/run/containerd/containerd.sock'), 'connect')`,
  'the bus of the system': `return await settle(builtin('net').connect('/run/dbus/system_bus_socket'), 'connect')`,
  'a datagram': `const s = builtin('dgram').createSocket('udp4'); return await new Promise((done, fail) => { s.on('error', fail); s.send('x', ctx.input.udp, '127.0.0.1', (e) => (e ? fail(e) : done('sent'))); })`,
  'dns.lookup': `return await builtin('dns').promises.lookup('example.com')`,
  'dns.resolve': `const r = new (builtin('dns').promises.Resolver)({ timeout: 200, tries: 1 }); r.setServers(['127.0.0.1:' + ctx.input.udp]); return await r.resolve4('example.com')`,
  WebSocket: `return await new Promise((done, fail) => { const s = new WebSocket('ws://127.0.0.1:' + ctx.input.tcp); s.onopen = () => done('open'); s.onerror = () => fail({ code: 'WebSocket' }); s.onclose = () => fail({ code: 'WebSocket' }); })`,
  'a request by undici of Node.js': `const d = globalThis[Symbol.for('undici.globalDispatcher.1')] ?? globalThis[Symbol.for('undici.globalDispatcher.2')]; if (!d) throw { code: 'NO_DISPATCHER' }; return await new Promise((done, fail) => d.dispatch({ origin: 'http://127.0.0.1:' + ctx.input.tcp, path: '/', method: 'GET' }, { onConnect() {}, onHeaders() { done('reached'); return true; }, onData() { return true; }, onComplete() {}, onError: fail, onRequestStart() {}, onResponseStart() { done('reached'); }, onResponseData() {}, onResponseEnd() {}, onResponseError: (_, e) => fail(e) }))`,
};
