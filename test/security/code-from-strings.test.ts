import { describe, expect, it } from 'vitest';
import { attempting, type Outcomes } from '../support/attempts.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

/** Ways to the constructor of functions, and other makers of code. Each would return 7. */
const spellings: Record<string, string> = {
  'constructor.constructor': `return ({}).constructor.constructor('return 7')()`,
  'constructor of an array by brackets': `return []['constructor']['constructor']('return 7')()`,
  'a template literal as key': 'return (() => {})[`constructor`](`return 7`)()',
  'a key put together at run time': "const key = ['const', 'ructor'].join(''); return ({})[key][key]('return 7')()",
  'a key in escapes': String.raw`return ({})['\x63onstructor']['\u{63}onstructor']('return 7')()`,
  'optional chaining': `return ({})?.['constructor']?.constructor?.('return 7')?.()`,
  'a descriptor': `return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(() => {}), 'constructor').value('return 7')()`,
  'Reflect.construct': `return Reflect.construct(Function, ['return 7'])()`,
  'Reflect.apply': `return Reflect.apply(Function, undefined, ['return 7'])()`,
  'Function.call': `return Function.call(null, 'return 7')()`,
  'Function.bind': `return Function.bind(null, 'return 7')()()`,
  'a proxy of Function': `return new Proxy(Function, {})('return 7')()`,
  'a subclass of Function': `return new (class extends Function {})('return 7')()`,
  'the constructor of a context function': `return ctx.log.info.constructor('return 7')()`,
  'the constructor of the input': `return ctx.input.constructor.constructor('return 7')()`,
  'the constructor of a thrown error': `try { null.x } catch (e) { return e.constructor.constructor('return 7')() }`,
  'the constructor of an array callback': `return [].map.constructor('return 7')()`,
  AsyncFunction: `return await Object.getPrototypeOf(async () => {}).constructor('return 7')()`,
  GeneratorFunction: `return Object.getPrototypeOf(function* () {}).constructor('yield 7')().next().value`,
  AsyncGeneratorFunction: `return (await Object.getPrototypeOf(async function* () {}).constructor('yield 7')().next()).value`,
  'direct eval': `return eval('7')`,
  'indirect eval': `return (0, eval)('7')`,
  'eval by a computed name': `return globalThis[['ev', 'al'].join('')]('7')`,
  'a timer of text': `return setTimeout('globalThis.seven = 7')`,
  'an interval of text': `return setInterval('globalThis.seven = 7', 1)`,
  'an immediate of text': `return setImmediate('globalThis.seven = 7')`,
};

describe('code from strings', () => {
  it('is refused in every spelling', async () => {
    const { output } = await cells().run(attempting(spellings));
    expect(output).toEqual(
      Object.fromEntries(
        Object.keys(spellings).map((name) => [name, / of text$/.test(name) ? 'ERR_INVALID_ARG_TYPE' : 'EvalError']),
      ),
    );
  });

  it('is refused while the module loads, too', async () => {
    const { error } = await cells().run({
      top: `const seven = ({}).constructor.constructor('return 7')();`,
      body: 'return seven',
    });
    expect(error).toMatchObject({ code: 'NODE_LOAD_FAILED', message: expect.stringContaining('EvalError') });
  });

  it('is data where it is only text, and functions that are written out work', async () => {
    const { output } = await cells().run(
      {
        body: `const f = (x) => x + ctx.input.n; return { f: f(1), text: ctx.input.text, isFunction: f instanceof Function }`,
      },
      { input: { n: 6, text: "constructor.constructor('return 7')()" } },
    );
    expect(output).toEqual({ f: 7, text: "constructor.constructor('return 7')()", isFunction: true });
  });

  it('gains nothing where a realm of its own gets round that', async () => {
    const hunt = `(() => { const got = []; try { got.push(process.env) } catch {} try { got.push(require) } catch {} return got.length })()`;
    const { output } = await cells().run(
      attempting({
        'vm runs text': `return builtin('vm').runInThisContext('6 * 7')`,
        'vm has no way out': `const vm = builtin('vm'); return vm.runInNewContext(${JSON.stringify(hunt)})`,
        'vm with a Function of its own realm': `const F = builtin('vm').runInNewContext('Function'); return F('return typeof process + typeof require')()`,
        'a compiled function reads no host file': `return builtin('vm').compileFunction('return fs.readFileSync("/etc/shadow", "utf8")', ['fs'])(fs)`,
        'a module of text reads no host file': `return (await import(['data:text/javascript,export default process.getBuiltinModule("fs").readFileSync("/etc/shadow","utf8")'][0])).default`,
        'a module of text has the same environment': `return (await import(['data:text/javascript,export default Object.keys(process.env).sort()'][0])).default`,
      }),
    );
    expect(output as unknown as Outcomes).toEqual({
      'vm runs text': { got: 42 },
      'vm has no way out': { got: 0 },
      'vm with a Function of its own realm': { got: 'undefinedundefined' },
      'a compiled function reads no host file': 'ERR_ACCESS_DENIED',
      'a module of text reads no host file': 'ERR_ACCESS_DENIED',
      'a module of text has the same environment': { got: ['HOME', 'LANG', 'PATH', 'TMPDIR', 'TZ'] },
    });
  });
});
