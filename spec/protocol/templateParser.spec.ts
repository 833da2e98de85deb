import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { TemplateParser } from '../../lib/protocol/templateParser.js';

/** A value or the kind of failure, so that two parsers can be compared. */
function outcome(
  parse: (text: string) => unknown,
  text: string,
): { readonly value: unknown; readonly text?: string } | 'SyntaxError' {
  try {
    const value = parse(text);
    return { value, text: JSON.stringify(value) }; // the order of the keys as well
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return 'SyntaxError';
    throw thrown;
  }
}

const expectSame = (texts: readonly string[]) => {
  const parser = new TemplateParser();
  // One comparison: thousands of calls of `expect` would take most of the time.
  expect(texts.map((text) => outcome((json) => parser.parse(json), text))).toEqual(
    texts.map((text) => outcome(JSON.parse, text)),
  );
};

/** Frames of one shape. */
const frames = (count: number, frame: (at: number) => unknown) =>
  Array.from({ length: count }, (_, at) => JSON.stringify(frame(at)));

const chat = (content: string, at: number) => ({
  id: 'chatcmpl-1',
  created: 1_790_000_000,
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  obfuscation: 'x'.repeat(at % 7),
});

describe('TemplateParser', () => {
  it('TemplateParser returns what JSON.parse returns, for any values in a shape', () => {
    const scalar = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constant(null),
    );
    const shaped = fc.tuple(
      fc.jsonValue({ maxDepth: 2 }),
      fc.array(fc.tuple(scalar, scalar), { minLength: 75, maxLength: 80 }),
    );
    fc.assert(
      fc.property(shaped, ([rest, values]) => {
        expectSame(values.map(([a, b]) => JSON.stringify({ id: 'one', a, list: [{ rest, b }, 7], last: 'end' })));
      }),
      { numRuns: 20 }, // templateParser.slow.spec.ts tries more
    );
  });

  it('TemplateParser returns or throws what JSON.parse does, where some texts are not JSON', () => {
    const json = fc.string({ maxLength: 6 }).map((text) => JSON.stringify({ type: 'delta', text, n: 1 }));
    const broken = fc.tuple(json, fc.nat(40), fc.string({ unit: 'binary', maxLength: 2 }));
    const cut = broken.map(([text, at, put]) => text.slice(0, at) + put + text.slice(at + 1));
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 5, arbitrary: json }, cut), { minLength: 90, maxLength: 110 }),
        expectSame,
      ),
    );
  });

  it('TemplateParser reads the frames of a response in which two strings change', () => {
    const parser = new TemplateParser();
    const texts = frames(100, (at) => chat(`a"\n${at} and more than a few characters`, at));
    expect(texts.map((text) => parser.parse(text))).toEqual(texts.map((text) => JSON.parse(text) as unknown));
  });

  it('TemplateParser learns the frames of Anthropic, each with other spaces before its last brace', () => {
    const parser = new TemplateParser();
    const texts = frames(200, (at) => ({ type: 'content_block_delta', index: 0, delta: { text: `t${at}` } })).map(
      (text, at) => `${text.slice(0, -1)}${' '.repeat((at * 7) % 16)}}`,
    );
    const expected = texts.map((text) => JSON.parse(text) as unknown);
    const parse = jest.spyOn(JSON, 'parse');
    try {
      expect(texts.map((text) => parser.parse(text))).toEqual(expected);
      expect(parse.mock.calls.length).toBeLessThan(80);
    } finally {
      parse.mockRestore();
    }
  });

  it('TemplateParser shares nothing between values: a change to one does not reach the next', () => {
    const parser = new TemplateParser();
    const texts = frames(100, (at) => ({
      delta: { file: `f${at}.ts`, options: { dryRun: true, tags: [] } },
      __proto: [[{}]],
    }));
    for (const text of texts) {
      const value = parser.parse(text) as {
        delta: { options: { dryRun: boolean; tags: string[] } };
        __proto: [[object]];
      };
      expect(value).toEqual(JSON.parse(text));
      value.delta.options.tags.push('written');
      value.delta.options.dryRun = false;
      Object.assign(value.__proto[0][0], { written: true });
    }
  });

  it('TemplateParser reads texts of any depth', () => {
    const deep = '['.repeat(1_900) + ']'.repeat(1_900);
    const parser = new TemplateParser();
    for (let at = 0; at < 80; at++) expect(parser.parse(`{"t":"x${at}","a":${deep}}`)).toHaveProperty('t', `x${at}`);
  });

  it.each([
    ['white space within', ['{"a" : "x" }', '{"a" : "y" }', '{"a" :"z" }']],
    ['a key that changes', ['{"k1":1,"v":"x"}', '{"k2":1,"v":"y"}', '{"k3":1,"v":"z"}']],
    ['a key that comes twice', ['{"a":"x","a":"same"}', '{"a":"y","a":"same"}', '{"a":"z","a":"other"}']],
    ['a key __proto__', ['{"__proto__":{"a":"x"}}', '{"__proto__":{"a":"y"}}', '{"__proto__":{"a":"z"}}']],
    ['a value that ends in a backslash', ['{"a":"x\\\\"}', '{"a":"y\\\\"}', '{"a":"z\\\\","b":1}']],
    [
      'a value that contains the mark of a hole',
      ['{"a":"\\u00000","b":"x"}', '{"a":"\\u00000","b":"y"}', '{"a":"\\u00000","b":"z"}'],
    ],
    ['a raw control character', ['{"a":"x"}', '{"a":"y"}', '{"a":"\n"}', '{"a":"\\n"}']],
    [
      'numbers of every form',
      ['{"a":1}', '{"a":-0}', '{"a":1e3}', '{"a":1.5E-3}', '{"a":01}', '{"a":1.}', '{"a":+1}', '{"a":1x}'],
    ],
    ['a string where a number was', ['{"a":1}', '{"a":2}', '{"a":"3"}', '{"a":null}', '{"a":{}}', '{"a":[4]}']],
    ['a list at the top', ['[{"a":"x"}]', '[{"a":"y"}]', '[{"a":"z"}]']],
    ['a scalar at the top', ['"a"', '"b"', '1', '2', 'null']],
    ['a text that is cut', ['{"a":"x","b":1}', '{"a":"y","b":1}', '{"a":"y', '{"a":"y"', '{"a":']],
    [
      'spaces at the end',
      ['{"a":"x"}', '{"a":"y" }', '{"a":"z   }"  }', '{"a":"  }', '{"a":"z",   }', '{"a":"z"  ', '{"a":"  "  } '],
    ],
    ['something after the end', ['{"a":"x"}', '{"a":"y"}', '{"a":"z"}}', '{"a":"z"} ']],
  ])('TemplateParser handles %s', (_, texts) => {
    expectSame(Array.from({ length: 30 }, () => texts).flat());
  });
});

/** So many frames of a shape in which one number changes. */
const numbers = (count: number, key = 'n', rest: object = {}) => frames(count, (at) => ({ [key]: at, ...rest }));
const deep = (depth: number) => ({ a: JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown });
const ofLength = (length: number) => ({ pad: 'x'.repeat(length - '{"n":100,"pad":""}'.length) });
const manyNumbers = (count: number, holes: number) =>
  frames(count, (at) => Object.fromEntries(Array.from({ length: holes }, (_, hole) => [`k${hole}`, at])));
/** Frames of shapes that take turns, which no template fits. */
const turns = (count: number) => numbers(count).map((text, at) => (at % 2 === 0 ? text : `{"odd":${text}}`));

describe('the texts that TemplateParser gives to JSON.parse', () => {
  // The first 64 texts of a response are parsed; the next two show what changes.
  it.each([
    ['a short response: all', numbers(66), 66],
    ['a long response: the first 66', numbers(200), 66],
    ['texts in which nothing changes: all', numbers(200).fill('{"n":1}'), 200],
    ['texts of 4,096 characters: the first 66', numbers(1_000, 'n', ofLength(4_096)).slice(100, 300), 66],
    ['texts of 4,097 characters: all', numbers(1_000, 'n', ofLength(4_097)).slice(100, 300), 200],
    ['8 values that change: the first 66', manyNumbers(200, 8), 66],
    ['9 values that change: all', manyNumbers(200, 9), 200],
    ['lists in 16 levels: the first 66', numbers(200, 'n', deep(16)), 66],
    ['lists in 17 levels: all', numbers(200, 'n', deep(17)), 200],
    ['a key __proto__: all', numbers(200).map((text) => `{"__proto__":${text}}`), 200],
    ['an escaped NUL in one value: all', numbers(200, 'n', { mark: '\u0000' }), 200],
    ['numbers, then strings: those, and one more', [...numbers(100), ...frames(100, (at) => ({ n: `${at}` }))], 67],
    ['shapes that take turns, and then one shape: all, since four tries failed', [...turns(68), ...numbers(99)], 167],
    [
      'three tries in vain: the next shape is learned only after the successes that earn another',
      [...numbers(66 + 64), ...turns(4).map((text) => `{"x":${text}}`), ...numbers(99, 'later')],
      66 + 4 + 99,
    ],
    [
      'two tries in vain after successes, which earned the tries for another shape',
      [...numbers(66 + 64), ...turns(2).map((text) => `{"x":${text}}`), ...numbers(99, 'later')],
      66 + 2 + 2,
    ],
    [
      'without those successes, the other shape is not learned',
      [...numbers(66 + 1), ...turns(2).map((text) => `{"x":${text}}`), ...numbers(99, 'later')],
      66 + 2 + 99,
    ],
    [
      'more successes do not earn more than four tries',
      [...numbers(1_000), ...turns(4).map((text) => `{"x":${text}}`), ...numbers(99, 'later')],
      66 + 4 + 99,
    ],
  ])('%s', (_, texts, parsed) => {
    const parser = new TemplateParser();
    const given = new Set(texts);
    const parse = jest.spyOn(JSON, 'parse');
    try {
      texts.forEach((text) => parser.parse(text));
      expect(parse.mock.calls.filter(([text]) => given.has(text)).length).toBe(parsed);
    } finally {
      parse.mockRestore();
    }
  });
});
