import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isSameJson } from '../../../lib/core/json/equal.js';
import { createPartialJson } from '../../../lib/core/json/partialJson.js';

/** Cuts a text at random places. */
const cutAt = (text: string, cuts: readonly number[]): string[] => {
  const offsets = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return offsets.slice(1).map((offset, index) => text.slice(offsets[index], offset));
};

/** Whether a snapshot may grow into the value: strings, arrays and objects are prefixes, other values are equal. */
function isPrefix(partial: unknown, complete: unknown): boolean {
  if (typeof partial === 'string') return typeof complete === 'string' && complete.startsWith(partial);
  if (Array.isArray(partial))
    return (
      Array.isArray(complete) &&
      partial.length <= complete.length &&
      partial.every((item, at) => isPrefix(item, complete[at]))
    );
  if (typeof partial !== 'object' || partial === null) return Object.is(partial, complete);
  return Object.entries(partial).every(
    ([key, item]) =>
      Object.hasOwn(complete as object, key) && isPrefix(item, (complete as Record<string, unknown>)[key]),
  );
}

const read = (...chunks: string[]) => {
  const json = createPartialJson();
  for (const chunk of chunks) json.push(chunk);
  return json;
};
const snapshotOf = (...chunks: string[]) => read(...chunks).snapshot();
const readToEnd = (text: string) => {
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

describe('partialJson', () => {
  it('partialJson ends with the value of JSON.parse however the text is split, and each snapshot is a prefix of that value', () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.nat(2000), { maxLength: 40 }), ({ json, text }, cuts) => {
        const value = JSON.parse(json) as unknown;
        const partial = createPartialJson();
        for (const chunk of cutAt(text, cuts)) {
          partial.push(chunk);
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

  it('a snapshot never changes, and a closed value is the same object in all later snapshots', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.string(), anyJson)),
        fc.array(fc.nat(2000), { maxLength: 40 }),
        (value, cuts) => {
          const json = createPartialJson();
          const given: { snapshot: unknown; text: string }[] = [];
          for (const chunk of cutAt(JSON.stringify(value), cuts)) {
            json.push(chunk);
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

  it('a snapshot has open strings, keys with a value, and numbers and literals that have ended', () => {
    expect(snapshotOf('{"a":"x')).toEqual({ a: 'x' });
    expect(snapshotOf('{"a":"x","b')).toEqual({ a: 'x' });
    expect(snapshotOf('{"a":"x","b":')).toEqual({ a: 'x' });
    expect(snapshotOf('[1')).toEqual([]);
    expect(snapshotOf('[1,tru')).toEqual([1]);
    expect(snapshotOf('[1,true,[{"a":"')).toEqual([1, true, [{ a: '' }]]);
    expect(snapshotOf('"wor')).toBe('wor');
    expect(snapshotOf('  ')).toBeUndefined();
  });

  it('a snapshot has no incomplete escape and no half of a surrogate pair', () => {
    const text = JSON.stringify(['😀\n', '\ud83d']) + JSON.stringify('x');
    for (const json of ['["\\ud83d\\ude00\\n","\\ud83d"]', text]) {
      for (let at = 0; at <= json.length; at++)
        expect(['', '😀', '😀\n', undefined]).toContain((snapshotOf(json.slice(0, at)) as string[] | undefined)?.[0]);
    }
    expect(snapshotOf('["\ud83d', '\ude00"]')).toEqual(['😀']);
    expect(snapshotOf('["\ud83d', 'x"]')).toEqual(['\ud83dx']);
  });

  it('partialJson ignores a code fence and text after the value, and fails at words after a number', () => {
    expect(snapshotOf('`', '``js', 'on\n{"a":1}\n```\nThere it is.')).toEqual({ a: 1 });
    expect(readToEnd('12\n```').snapshot()).toBe(12);
    expect(readToEnd('5 degrees').failedAt()).toBe(2);
    expect(snapshotOf('`{"a":1}`')).toEqual({ a: 1 });
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
  ])('partialJson stops at invalid JSON and keeps the value before it: %s', (text) => {
    expect(() => JSON.parse(text) as unknown).toThrow();
    const atOnce = read(text);
    expect(atOnce.failedAt()).toBeGreaterThanOrEqual(0);
    const before = atOnce.snapshot();
    const cut = read(...text.split(/(?:)/), ',"more"]');
    expect(cut.failedAt()).toBe(atOnce.failedAt());
    expect(cut.snapshot()).toEqual(before);
  });

  it('partialJson stops at the same offset however the text is split, for any error at any depth', () => {
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

  it('partialJson scans open and invalid values once, however deep they are', () => {
    const open = '[1,'.repeat(100_000);
    expect(read(open).failedAt()).toBeUndefined();
    expect(read(`${open}x${']'.repeat(100_000)}`).failedAt()).toBe(open.length);
  });

  it('push returns false once more text cannot change the value', () => {
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

  it('a snapshot is due as soon as a long array has closed', () => {
    const json = read(`{"list":[${'1,'.repeat(1_000)}1`);
    json.snapshot();
    json.push(',1');
    expect(json.isDue()).toBe(false);
    json.push(']');
    expect(json.isDue()).toBe(true);
  });

  it('__proto__ is an ordinary key', () => {
    const value = snapshotOf('{"__proto__":{"admin":true},"a":{"__proto__":"x');
    expect(Object.keys(value as object)).toEqual(['__proto__', 'a']);
    expect((value as { admin?: true }).admin).toBeUndefined();
    expect(JSON.stringify(value)).toBe('{"__proto__":{"admin":true},"a":{"__proto__":"x"}}');
  });

  it('partialJson reads values that are nested deeper than the call stack', () => {
    const depth = 100_000;
    const json = read('['.repeat(depth));
    expect(json.snapshot()).toBeDefined();
    json.push(']'.repeat(depth));
    expect(json.isDone()).toBe(true);
    const other = read('['.repeat(depth) + ']'.repeat(depth));
    expect(isSameJson(json.snapshot(), other.snapshot())).toBe(true);
  });

  it('due snapshots copy about one reference per character', () => {
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
