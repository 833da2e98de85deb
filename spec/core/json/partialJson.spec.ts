import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isSameJson } from '../../../lib/core/json/equal.js';
import { createPartialJson } from '../../../lib/core/json/partialJson.js';

/** Cuts a text at random places. */
const cutAt = (text: string, cuts: readonly number[]): string[] => {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((place, index) => text.slice(places[index], place));
};

/** Whether a snapshot may become the value: strings, arrays and objects by their beginning, the rest as it is. */
function isPrefix(partial: unknown, whole: unknown): boolean {
  if (typeof partial === 'string') return typeof whole === 'string' && whole.startsWith(partial);
  if (Array.isArray(partial))
    return (
      Array.isArray(whole) && partial.length <= whole.length && partial.every((item, at) => isPrefix(item, whole[at]))
    );
  if (typeof partial !== 'object' || partial === null) return Object.is(partial, whole);
  return Object.entries(partial).every(
    ([key, item]) => Object.hasOwn(whole as object, key) && isPrefix(item, (whole as Record<string, unknown>)[key]),
  );
}

const read = (...pieces: string[]) => {
  const json = createPartialJson();
  for (const piece of pieces) json.push(piece);
  return json;
};
const shown = (...pieces: string[]) => read(...pieces).snapshot();
const whole = (text: string) => {
  const json = read(text);
  json.end();
  return json;
};

const anyString = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('__proto__', 'a', '😀', '\ud83d', '"\\/\b\f\n\r\t\u2028'),
);
const { value: anyJson } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    anyString,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    tie('array'),
    tie('object'),
  ),
  array: fc.array(tie('value')),
  object: fc.dictionary(anyString, tie('value')),
}));
/** JSON text as servers write it: spaced or not, with escapes or without, in a fence or not. */
const anyText = fc
  .tuple(
    anyJson,
    fc.constantFrom(undefined, 2),
    fc.boolean(),
    fc.constantFrom(['', ''], ['\n', ' \n'], ['\ufeff', ''], ['```json\n', '\n```'], ['\n```\n', '\n```\n']),
  )
  .map(([value, space, ascii, [before = '', after = '']]) => {
    const json = JSON.stringify(value, null, space);
    const escaped = ascii
      ? json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      : json;
    return { json, text: before + escaped + after };
  });

describe('createPartialJson', () => {
  it('comes to what JSON.parse says, however the text is cut; every snapshot on the way is a prefix of it', () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.nat(2000), { maxLength: 40 }), ({ json, text }, cuts) => {
        const value = JSON.parse(json) as unknown;
        const partial = createPartialJson();
        for (const piece of cutAt(text, cuts)) {
          partial.push(piece);
          const snapshot = partial.snapshot();
          if (snapshot !== undefined) expect(isPrefix(snapshot, value)).toBe(true);
          expect(partial.snapshot()).toBe(snapshot);
        }
        partial.end();
        expect([partial.isDone(), partial.failedAt()]).toEqual([true, undefined]);
        expect(isSameJson(partial.snapshot(), value)).toBe(true);
        expect(JSON.stringify(partial.snapshot())).toBe(JSON.stringify(value));
      }),
      { numRuns: 500 },
    );
  });

  it('never changes a snapshot that it gave, and keeps what has closed the same object', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.string(), anyJson)),
        fc.array(fc.nat(2000), { maxLength: 40 }),
        (value, cuts) => {
          const json = createPartialJson();
          const given: { snapshot: unknown; text: string }[] = [];
          for (const piece of cutAt(JSON.stringify(value), cuts)) {
            json.push(piece);
            const snapshot = json.snapshot();
            given.push({ snapshot, text: JSON.stringify(snapshot) });
            const finished = json.array()?.values.slice(0, json.array()?.finished) ?? [];
            finished.forEach((item, at) => expect((snapshot as unknown[])[at]).toBe(item));
          }
          for (const { snapshot, text } of given) expect(JSON.stringify(snapshot)).toBe(text);
        },
      ),
    );
  });

  it('shows strings as they grow, keys with their values, numbers and literals when they have ended', () => {
    expect(shown('{"a":"x')).toEqual({ a: 'x' });
    expect(shown('{"a":"x","b')).toEqual({ a: 'x' });
    expect(shown('{"a":"x","b":')).toEqual({ a: 'x' });
    expect(shown('[1')).toEqual([]);
    expect(shown('[1,tru')).toEqual([1]);
    expect(shown('[1,true,[{"a":"')).toEqual([1, true, [{ a: '' }]]);
    expect(shown('"wor')).toBe('wor');
    expect(shown('  ')).toBeUndefined();
  });

  it('waits for the rest of an escape and of a surrogate pair, wherever it is cut', () => {
    const text = JSON.stringify(['😀\n', '\ud83d']) + JSON.stringify('x');
    for (const json of ['["\\ud83d\\ude00\\n","\\ud83d"]', text]) {
      for (let at = 0; at <= json.length; at++)
        expect(['', '😀', '😀\n', undefined]).toContain((shown(json.slice(0, at)) as string[] | undefined)?.[0]);
    }
    expect(shown('["\ud83d', '\ude00"]')).toEqual(['😀']);
    expect(shown('["\ud83d', 'x"]')).toEqual(['\ud83dx']);
  });

  it('ignores a fence and what follows the value, and takes words after a number for no JSON', () => {
    expect(shown('`', '``js', 'on\n{"a":1}\n```\nThere it is.')).toEqual({ a: 1 });
    expect(whole('12\n```').snapshot()).toBe(12);
    expect(whole('5 degrees').failedAt()).toBe(2);
    expect(shown('`{"a":1}`')).toEqual({ a: 1 });
    expect(read('nothing yet').snapshot()).toBeUndefined();
  });

  it.each([
    '{a:1}',
    "['a']",
    '[1,]',
    '[,1]',
    '{"a":1,}',
    '{"a" 1}',
    '[1 2]',
    '[01]',
    '[1.]',
    '[+1]',
    '[.5]',
    '[0x1]',
    '[NaN]',
    '["\\x"]',
    '["\\u12g4"]',
    '["a\nb"]',
    '[}',
    '{]',
    '[1}',
    'Hello [1]',
    '[tru]',
  ])('stops at what is no JSON, and keeps what came before: %s', (text) => {
    expect(() => JSON.parse(text) as unknown).toThrow();
    const whole = read(text);
    expect(whole.failedAt()).toBeGreaterThanOrEqual(0);
    const before = whole.snapshot();
    const cut = read(...text.split(/(?:)/), ',"more"]');
    expect(cut.failedAt()).toBe(whole.failedAt());
    expect(cut.snapshot()).toEqual(before);
  });

  it('stops where it would had the characters come one by one, whatever is wrong and however deep', () => {
    fc.assert(
      fc.property(
        anyText,
        fc.nat(),
        fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '1', 'x', '\n'),
        fc.boolean(),
        ({ text }, place, character, isInserted) => {
          const at = place % (text.length + 1);
          const wrong = text.slice(0, at) + character + text.slice(isInserted ? at : at + 1);
          const [atOnce, byCharacter] = [read(wrong), read(...wrong.split(''))];
          expect([atOnce.failedAt(), atOnce.isDone()]).toEqual([byCharacter.failedAt(), byCharacter.isDone()]);
          expect(JSON.stringify(atOnce.snapshot())).toBe(JSON.stringify(byCharacter.snapshot()));
          expect(atOnce.array()).toEqual(byCharacter.array());
        },
      ),
      { numRuns: 500 },
    );
  });

  it('looks at what does not end, or is wrong, no more often the deeper it is', () => {
    const open = '[1,'.repeat(100_000);
    expect(read(open).failedAt()).toBeUndefined();
    expect(read(`${open}x${']'.repeat(100_000)}`).failedAt()).toBe(open.length);
  });

  it('tells when more text would change nothing', () => {
    const json = createPartialJson();
    expect(json.push('[1')).toBe(true);
    expect(json.push(']')).toBe(true);
    expect(json.isDone()).toBe(true);
    expect(json.push('\n```')).toBe(false);
    const words = createPartialJson();
    expect(words.push('Let me see.')).toBe(true);
    expect(words.failedAt()).toBe(0);
    expect(words.push('[1]')).toBe(false);
  });

  it('has a snapshot due as soon as a long list has closed', () => {
    const json = read(`{"list":[${'1,'.repeat(1_000)}1`);
    json.snapshot();
    json.push(',1');
    expect(json.isDue()).toBe(false);
    json.push(']');
    expect(json.isDue()).toBe(true);
  });

  it('takes __proto__ for a key like any other', () => {
    const value = shown('{"__proto__":{"admin":true},"a":{"__proto__":"x');
    expect(Object.keys(value as object)).toEqual(['__proto__', 'a']);
    expect((value as { admin?: true }).admin).toBeUndefined();
    expect(JSON.stringify(value)).toBe('{"__proto__":{"admin":true},"a":{"__proto__":"x"}}');
  });

  it('reads and shows what is nested deeper than the stack', () => {
    const depth = 100_000;
    const json = read('['.repeat(depth));
    expect(json.snapshot()).toBeDefined();
    json.push(']'.repeat(depth));
    expect(json.isDone()).toBe(true);
    const other = read('['.repeat(depth) + ']'.repeat(depth));
    expect(isSameJson(json.snapshot(), other.snapshot())).toBe(true);
  });

  it('copies at most about one reference for each character, by the snapshots that are due', () => {
    const json = createPartialJson();
    let copied = 0;
    const text = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id })));
    for (let at = 0; at < text.length; at += 4) {
      json.push(text.slice(at, at + 4));
      if (json.isDue()) copied += (json.snapshot() as unknown[] | undefined)?.length ?? 0;
    }
    expect(copied).toBeGreaterThan(text.length / 2);
    expect(copied).toBeLessThan(text.length * 1.2);
  });
});

describe('isSameJson', () => {
  it('compares by value, deeply, keys in any order', () => {
    expect(isSameJson({ a: [1, { b: null }], c: 'x' }, { c: 'x', a: [1, { b: null }] })).toBe(true);
    const pairs: [unknown, unknown][] = [
      [{}, []],
      [[1], [1, 2]],
      [{ a: 1 }, { b: 1 }],
      [{ a: undefined }, { b: undefined }],
      [null, {}],
      ['1', 1],
      [new Date(0), {}],
    ];
    for (const [a, b] of pairs) expect([a, b, isSameJson(a, b)]).toEqual([a, b, false]);
  });
});
