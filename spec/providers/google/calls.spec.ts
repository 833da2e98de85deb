import { describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { call, frame, read, replayed, stop } from './frames.js';

const calls = (...frames: readonly JsonObject[]) =>
  read(...frames, stop).calls.map(({ name, arguments: args }) => [name, args]);

describe('CallDecoder', () => {
  it('CallDecoder emits a call at once when its part has a name and arguments', () => {
    const { chunks } = read(call({ name: 'f', args: { a: 1 } }), stop);
    expect(chunks).toContainEqual({ type: 'toolCallFragment', index: 0, name: 'f', arguments: { a: 1 }, done: true });
  });

  it('CallDecoder makes arguments at a path with too many levels invalid', () => {
    const jsonPath = `$${'.a'.repeat(100_000)}`;
    expect(calls(call({ name: 'f', partialArgs: [{ jsonPath, stringValue: 'v' }] }))).toEqual([
      ['f', { _raw: jsonPath, _error: 'invalid_json' }],
    ]);
  });

  it('CallDecoder keeps equal calls without ids apart', () => {
    const twice = call({ name: 'f', args: { a: 1 } });
    expect(calls(twice, twice, call({ name: 'f' }), call({ name: 'f', args: {} }))).toEqual([
      ['f', { a: 1 }],
      ['f', { a: 1 }],
      ['f', {}],
      ['f', {}],
    ]);
  });

  it('CallDecoder joins arguments of several parts after a name with empty arguments', () => {
    expect(
      calls(
        call({ name: 'f', args: {} }),
        call({ args: { city: 'Oslo' } }),
        call({ args: { unit: 'C' } }),
        call({ name: 'g', args: { b: 2 } }),
        call({ name: 'h', id: 'x', args: {} }),
        call({ args: { c: 3 } }),
        call({ args: { d: 4 } }),
      ),
    ).toEqual([
      ['f', { city: 'Oslo', unit: 'C' }],
      ['g', { b: 2 }],
      ['h', { c: 3, d: 4 }],
    ]);
  });

  it('CallDecoder completes a call without arguments when the next one begins', () => {
    const { chunks } = read(call({ name: 'now', args: {} }), call({ name: 'f', args: { a: 1 } }), stop);
    expect(chunks.filter(({ type }) => type === 'toolCallFragment')).toEqual([
      { type: 'toolCallFragment', index: 0, name: 'now' },
      { type: 'toolCallFragment', index: 0, done: true },
      { type: 'toolCallFragment', index: 1, name: 'f', arguments: { a: 1 }, done: true },
    ]);
  });

  it('CallDecoder joins arguments at paths, with the name in each part or only in the first', () => {
    const fragment = (text: string, fields: JsonObject = {}) => ({
      partialArgs: [{ jsonPath: '$.text', stringValue: text }],
      ...fields,
    });
    expect(
      calls(
        call({ name: 'f', id: '1', ...fragment('Hel', { willContinue: true }) }),
        call({ name: 'f', id: '1', ...fragment('lo') }),
        call({ name: 'f', id: '2', ...fragment('Bye') }),
        call({ name: 'g' }),
        call(fragment('no ')),
        call(fragment('marks')),
        call({}),
        call({ name: 'h', args: { seed: 1 }, willContinue: true }),
        call(fragment('x')),
        call({ name: 'now' }),
      ),
    ).toEqual([
      ['f', { text: 'Hello' }],
      ['f', { text: 'Bye' }],
      ['g', { text: 'no marks' }],
      ['h', { seed: 1, text: 'x' }],
      ['now', {}],
    ]);
  });

  it('CallDecoder reads any path, also one that names the prototype or an index in the billions', () => {
    const args = [
      '$.__proto__.polluted',
      '$[\'a.b\']["c"]',
      '$.list[4000000000]',
      '$.list[1].deep',
      '$',
      '',
      'bare',
      '$.bad[*]',
    ];
    const partialArgs = [
      ...args.map((jsonPath) => ({ jsonPath, stringValue: 'v' })),
      { jsonPath: '$.none' },
      null,
      7,
    ] as JsonValue;
    const [[, found] = []] = calls(call({ name: 'f', partialArgs }));
    expect(found).toMatchObject({ 'a.b': { c: 'v' }, list: [{ deep: 'v' }, 'v'], bare: 'v' });
    expect(Object.keys(found as object)).toContain('__proto__');
    expect({}).not.toHaveProperty('polluted');
  });

  it('CallDecoder replaces the escapes of a quoted name, as RFC 9535 defines them', () => {
    const names = ['a\nb', '\t\r\b\f', '\u000b', '\ud83d\ude00', "it's", 'say "x"', 'back\\slash', 'a/b'];
    const partialArgs = names.flatMap((name, index) => {
      const doubleQuoted = JSON.stringify(name);
      const escaped = doubleQuoted.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
      return [
        { jsonPath: `$.double[ ${doubleQuoted} ]`, numberValue: index },
        { jsonPath: `$['single']['${escaped}']`, numberValue: index },
      ];
    });
    partialArgs.push({ jsonPath: '$.double["\\ud83d\\ude00\\/"]', numberValue: 99 });
    const [[, found] = []] = calls(call({ name: 'f', partialArgs }));
    const single = Object.fromEntries(names.map((name, index) => [name, index]));
    expect(found).toEqual({ double: { ...single, '\ud83d\ude00/': 99 }, single });
  });

  it.each(['MAX_TOKENS', 'SAFETY', 'LANGUAGE', 'MALFORMED_FUNCTION_CALL'])(
    'CallDecoder exposes no call whose arguments were truncated by %s',
    (finishReason) => {
      const whole = call({ name: 'f', args: { a: 1 } });
      const half = call({ name: 'g', partialArgs: [{ jsonPath: '$.a', numberValue: 1 }], willContinue: true });
      expect(read(whole, half, frame([], { finishReason })).calls).toMatchObject([{ name: 'f' }]);
      expect(read(whole, half).calls).toMatchObject([{ name: 'f' }]);
    },
  );

  it.each(['STOP', 'OTHER'])('CallDecoder does not end a call of which more was announced, at %s', (finishReason) => {
    const half = call({ name: 'g', partialArgs: [{ jsonPath: '$.a', numberValue: 1 }], willContinue: true });
    const { calls: found, finish } = read(half, frame([], { finishReason }));
    expect([found, finish?.reason]).toEqual([[], 'other']);
  });

  it('CallDecoder keeps each signature on its call, and an id only if the API sent one', () => {
    expect(
      replayed(
        frame([
          { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 's1' },
          { functionCall: { name: 'f', args: { a: 2 } } },
        ]),
        call({ id: 'x', name: 'g', args: {} }, { thoughtSignature: 's2' }),
        call({ name: 'h', willContinue: true }, { thoughtSignature: 's3' }),
        call({ partialArgs: [{ jsonPath: '$.b', boolValue: false }] }),
        stop,
      ),
    ).toEqual([
      { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 's1' },
      { functionCall: { name: 'f', args: { a: 2 } } },
      { functionCall: { id: 'x', name: 'g', args: {} }, thoughtSignature: 's2' },
      { functionCall: { name: 'h', args: { b: false } }, thoughtSignature: 's3' },
    ]);
  });
});
