import type { NodeSource } from './node-package.ts';

/** Work of every kind that a node may do by itself, one after the other; each tells that it was done. */
const work: Readonly<Record<string, string>> = {
  'files by descriptor': `
    const fd = fs.openSync('/tmp/file', 'w+');
    fs.writeSync(fd, 'text'); fs.writeSync(fd, Buffer.alloc(70000, 1), 0, 70000, 4); fs.writevSync(fd, [Buffer.from('a'), Buffer.from('b')]);
    fs.writevSync(fd, [Buffer.from('c'), Buffer.from('d')], 9);
    fs.readSync(fd, Buffer.alloc(4), 0, 4, 0); fs.readvSync(fd, [Buffer.alloc(1), Buffer.alloc(1)], 0); fs.readvSync(fd, [Buffer.alloc(1), Buffer.alloc(1)]);
    fs.ftruncateSync(fd, 10); fs.fstatSync(fd, { bigint: true });
    fs.closeSync(fd);`,
  'files by name': `
    fs.writeFileSync('/tmp/a', 'text'); fs.appendFileSync('/tmp/a', 'more'); fs.copyFileSync('/tmp/a', '/tmp/b'); fs.copyFileSync('/glovebox/harness.cjs', '/tmp/of-the-image'); fs.unlinkSync('/tmp/of-the-image'); fs.renameSync('/tmp/b', '/tmp/c');
    fs.truncateSync('/tmp/a', 2); fs.utimesSync('/tmp/a', 1, 1); fs.lutimesSync('/tmp/a', 1, 1); fs.accessSync('/tmp/a', fs.constants.R_OK); fs.existsSync('/tmp/x');
    fs.statSync('/tmp/a'); fs.lstatSync('/tmp/a'); fs.statfsSync('/tmp'); fs.realpathSync('/tmp/a'); fs.realpathSync.native('/tmp/a'); fs.readFileSync('/tmp/a', 'utf8'); fs.unlinkSync('/tmp/c');
    try { fs.readlinkSync('/tmp/a'); } catch {}`,
  'files by more than their names': `
    const self = [process.getuid(), process.getgid()]; const p = fs.promises; fs.writeFileSync('/tmp/m', 'text'); const h = await p.open('/tmp/m', 'r+');
    const refused = async (code, ...calls) => { for (const call of calls) { let said; try { await call(); said = 'nothing'; } catch (error) { said = error.code; } if (said !== code) throw new Error(call + ': ' + said); } };
    await refused('EPERM', () => fs.chmodSync('/tmp/m', 0o600), () => p.chmod('/tmp/m', 0o600), () => fs.chownSync('/tmp/m', ...self), () => p.chown('/tmp/m', ...self), () => fs.lchownSync('/tmp/m', ...self), () => p.lchown('/tmp/m', ...self), () => fs.linkSync('/tmp/m', '/tmp/n'), () => p.link('/tmp/m', '/tmp/n'), () => process.getgroups());
    await refused('ERR_ACCESS_DENIED', () => fs.symlinkSync('/tmp/m', '/tmp/n'), () => p.symlink('/tmp/m', '/tmp/n'), () => fs.fsyncSync(h.fd), () => h.sync(), () => fs.fdatasyncSync(h.fd), () => h.datasync(), () => fs.fchmodSync(h.fd, 0o600), () => fs.futimesSync(h.fd, 1, 1));
    await h.close(); fs.unlinkSync('/tmp/m');`,
  directories: `
    fs.mkdirSync('/tmp/d/e/f', { recursive: true }); fs.mkdtempSync('/tmp/g-'); fs.writeFileSync('/tmp/d/e/h', ''); fs.readdirSync('/tmp', { recursive: true, withFileTypes: true });
    const dir = fs.opendirSync('/tmp/d'); while (dir.readSync()); dir.closeSync(); fs.rmdirSync('/tmp/d/e/f'); fs.rmSync('/tmp/d', { recursive: true });`,
  'files in the pool': `
    const p = fs.promises; await p.mkdir('/tmp/p'); await p.writeFile('/tmp/p/a', 'x'.repeat(1e5)); await p.appendFile('/tmp/p/a', 'y'); await p.copyFile('/tmp/p/a', '/tmp/p/b'); await p.rename('/tmp/p/b', '/tmp/p/c');
    const h = await p.open('/tmp/p/a', 'r+'); try { await h.read(Buffer.alloc(4), 0, 4, 0); await h.write('z', 0); await h.writev([Buffer.from('1'), Buffer.from('2')]); await h.readv([Buffer.alloc(2)], 0); await h.truncate(5); await h.stat(); } finally { await h.close(); }
    await Promise.all(Array.from({ length: 50 }, (_, i) => p.writeFile('/tmp/p/' + i, 'x').then(() => p.stat('/tmp/p/' + i)).then(() => p.access('/tmp/p/' + i)))); await p.readdir('/tmp/p'); for await (const _ of await p.opendir('/tmp/p')); await p.realpath('/tmp/p'); await p.statfs('/tmp'); await p.rm('/tmp/p', { recursive: true });`,
  streams: `
    const { pipeline } = builtin('stream/promises'); const { PassThrough, Readable } = builtin('stream'); const zlib = builtin('zlib');
    await pipeline(Readable.from(Array(20).fill('x'.repeat(5000))), zlib.createGzip(), fs.createWriteStream('/tmp/z')); await pipeline(fs.createReadStream('/tmp/z', { highWaterMark: 64 }), zlib.createGunzip(), new PassThrough(), async (s) => { for await (const _ of s); });
    for await (const _ of builtin('readline').createInterface({ input: fs.createReadStream('/tmp/a') })); fs.unlinkSync('/tmp/z');`,
  compression: `
    const zlib = builtin('zlib'); const { promisify } = builtin('util'); const bytes = Buffer.alloc(100000, 'abc');
    for (const [to, from] of [['gzip', 'gunzip'], ['deflate', 'inflate'], ['brotliCompress', 'brotliDecompress'], ['zstdCompress', 'zstdDecompress']]) { await promisify(zlib[from])(await promisify(zlib[to])(bytes)); zlib[from + 'Sync'](zlib[to + 'Sync'](bytes)); }
    await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();`,
  cryptography: `
    const c = builtin('crypto'); const { promisify } = builtin('util');
    c.randomBytes(64); await promisify(c.randomBytes)(64); c.randomUUID(); c.getRandomValues(new Uint8Array(16)); c.createHash('sha256').update('x').digest(); c.createHmac('sha256', 'k').update('x').digest();
    await promisify(c.pbkdf2)('p', 's', 1000, 32, 'sha256'); await promisify(c.scrypt)('p', 's', 32); c.scryptSync('p', 's', 32); const { privateKey, publicKey } = await promisify(c.generateKeyPair)('rsa', { modulusLength: 1024 }); c.verify('sha256', Buffer.from('x'), publicKey, c.sign('sha256', Buffer.from('x'), privateKey)); c.generateKeyPairSync('ed25519');
    const key = await c.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt']); await c.subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, new Uint8Array(10)); await c.subtle.digest('SHA-512', new Uint8Array(10)); c.createCipheriv('aes-256-cbc', Buffer.alloc(32), Buffer.alloc(16)).final(); await promisify(c.generatePrime)(64); c.getHashes();`,
  timers: `
    await new Promise((r) => setTimeout(r, 5)); await new Promise((r) => setImmediate(r)); await builtin('timers/promises').setTimeout(3); for await (const _ of builtin('timers/promises').setInterval(2)) break; await ctx.clock.sleep(2); performance.now(); process.hrtime.bigint(); Date.now(); new Date().toLocaleString(); Intl.DateTimeFormat('de', { timeZone: 'Europe/Berlin' }).format(0);
    const { port1, port2 } = new MessageChannel(); port1.postMessage(1); await new Promise((r) => port2.once('message', r)); port1.close();`,
  promises: `await Promise.all(Array.from({ length: 20000 }, async (_, i) => { await null; return i; })); await Promise.allSettled([Promise.reject(1)]); structuredClone({ a: new Map([[1, new Date()]]) });`,
  garbage: `for (let round = 0; round < 30; round++) { const all = []; for (let i = 0; i < 20000; i++) all.push({ i, text: 'x'.repeat(i % 50), list: [i] }); round % 7 || Buffer.alloc(4e6, 1); } let kept = []; for (let i = 0; i < 60; i++) kept.push(new Array(20000).fill(i)); kept = undefined; for (let i = 0; i < 30; i++) { new ArrayBuffer(1e6); await new Promise((r) => setImmediate(r)); }`,
  'compiled code': `const f = (n) => n < 2 ? n : f(n - 1) + f(n - 2); f(27); let s = 0; for (let i = 0; i < 3e6; i++) s += Math.sqrt(i); [...'x'.repeat(1e5)].sort(); JSON.parse(JSON.stringify(Array.from({ length: 1e4 }, (_, i) => ({ i })))); /(a|b)*c/.test('ab'.repeat(1000)); const wasm = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 4, 1, 2, 0, 11]))); wasm.exports.f(); const beyond = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 102, 0, 0, 10, 12, 1, 10, 0, 65, 128, 128, 192, 0, 40, 2, 0, 11]))); try { beyond.exports.f(); } catch (error) { if (!(error instanceof WebAssembly.RuntimeError)) throw error; } new WebAssembly.Memory({ initial: 1, maximum: 100 }).grow(10);`,
  'what it is': `
    const os = builtin('os'); for (const name of ['arch', 'cpus', 'endianness', 'freemem', 'homedir', 'hostname', 'loadavg', 'platform', 'release', 'tmpdir', 'totalmem', 'type', 'uptime', 'userInfo', 'version', 'machine', 'availableParallelism', 'networkInterfaces', 'getPriority']) try { os[name](); } catch {}
    process.memoryUsage(); process.memoryUsage.rss(); process.resourceUsage(); process.cpuUsage(); process.threadCpuUsage(); process.uptime(); process.umask(); process.constrainedMemory(); process.availableMemory(); process.getActiveResourcesInfo(); process.title = 'x'; process.cwd(); process.getuid(); process.geteuid(); process.ppid; process.getgid(); process.getegid(); try { process.report.getReport(); } catch {}
    builtin('v8').getHeapStatistics(); builtin('v8').serialize({ a: 1 }); builtin('perf_hooks').monitorEventLoopDelay().enable(); process.emitWarning('x'); process.stdout.isTTY; process.stdin.resume; try { process.kill(process.pid, 0); } catch {}`,
  signals: `const heard = () => {}; for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGWINCH', 'SIGUSR2']) process.on(name, heard).off(name, heard); await new Promise((r) => setImmediate(r)); AbortSignal.timeout(1); await new Promise((r) => setTimeout(r, 5));`,
  database: `const { DatabaseSync } = builtin('sqlite'); for (const mode of ['delete', 'wal', 'truncate', 'persist', 'memory']) { const db = new DatabaseSync('/tmp/' + mode + '.db'); db.exec('PRAGMA journal_mode=' + mode + '; CREATE TABLE t (n, x); BEGIN; INSERT INTO t VALUES (1, zeroblob(30000)); COMMIT; VACUUM;'); db.prepare('SELECT * FROM t').all(); db.prepare('SELECT length(group_concat(hex(zeroblob(20000)))) FROM (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 1000) SELECT i FROM r)').get(); db.close(); for (const end of ['', '-wal', '-shm', '-journal']) fs.rmSync('/tmp/' + mode + '.db' + end, { force: true }); }`,
  'threads that Node.js refuses': `try { new (builtin('worker_threads').Worker)('', { eval: true }).on('error', () => {}); } catch {} try { builtin('child_process').spawnSync('/usr/bin/node'); } catch {}`,
  'sockets that Node.js refuses': `for (const start of [() => builtin('net').connect(80, '127.0.0.1'), () => builtin('net').connect('/tmp/none'), () => builtin('net').createServer().listen('/tmp/s'), () => builtin('dgram').createSocket('udp4').bind(0)]) await new Promise((r) => { try { start().on('error', r).on('connect', r).on('listening', r); } catch { r(); } }); await builtin('dns').promises.lookup('localhost').catch(() => {}); try { fs.watch('/tmp', () => {}).on('error', () => {}).close(); } catch {} fs.watchFile('/tmp/a', { interval: 5 }, () => {}); await new Promise((r) => setTimeout(r, 20)); fs.unwatchFile('/tmp/a');`,
  'the channel': `ctx.log.info('said', { n: 1 }); for (let i = 0; i < 50; i++) ctx.log.info('line ' + i); console.log('out'); console.error('error'); process.stdout.write('x'.repeat(30000) + '\\n'); await new Promise((r) => process.stderr.write('y\\n', r)); ctx.progress?.(0.5, 'half');`,
  'memory outside of the heap': `const all = []; for (let i = 0; i < 60; i++) all.push(Buffer.alloc(1e6, i)); all.length = 0; new SharedArrayBuffer(1e6, { maxByteLength: 2e6 }).grow(2e6); new ArrayBuffer(1e5, { maxByteLength: 1e6 }).resize(5e5); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3); const list = []; for (let i = 0; i < 3e5; i++) list.push(i); let text = ''; for (let i = 0; i < 1e5; i++) text += i; Buffer.from(text).toString('base64');`,
};

/** A node under load. It gives the names of what was done, and of what could not be, with its error. */
export const load: NodeSource = {
  top: `import fs from 'node:fs';
const builtin = (name: string): any => process.getBuiltinModule('node:' + name);`,
  body: `  const done: string[] = []; const failed: Record<string, string> = {};\n${Object.entries(work)
    .map(
      ([name, code]) =>
        `  try { await (async () => {${code}\n  })(); done.push(${JSON.stringify(name)}); } catch (error) { failed[${JSON.stringify(name)}] = String(error); }`,
    )
    .join('\n')}\n  return { done, failed };`,
  manifest: { resources: { memory: '512MiB', timeout: '60s', cpu: 2 } },
};

export const loadNames = Object.keys(work);
