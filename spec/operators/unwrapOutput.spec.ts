import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { concat, from, throwError } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import { unwrapOutput } from '../../lib/operators/unwrapOutput.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';

const text = (value: string): Chunk => ({ type: 'text', text: value });
const finish: Chunk = { type: 'finish', reason: 'stop' };
const textOf = (chunks: readonly Chunk[]) => chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('');
const unwrap = (...chunks: readonly Chunk[]) => observe(from(chunks).pipe(unwrapOutput())).values;

/** The text in deltas that end at these offsets. */
function cut(whole: string, offsets: readonly number[]): readonly Chunk[] {
  const ends = [...new Set(offsets.map((offset) => offset % (whole.length + 1)))].sort((a, b) => a - b);
  return [...ends, whole.length].map((end, index) => text(whole.slice(index === 0 ? 0 : ends[index - 1], end)));
}

describe('unwrapOutput', () => {
  it('unwrapOutput removes the wrapper from the text', () =>
    diagram('unwrapOutput', ({ source }) => source.pipe(unwrapOutput())));

  it.each(operatorContract(unwrapOutput<Chunk>(), { source: [text('{"value":1}'), finish] }))(
    'unwrapOutput $title',
    ({ run }) => run(),
  );

  it('unwrapOutput returns the text of any value, however it is cut and written', () => {
    const space = fc.constantFrom('', ' ', '\n', '  \n');
    const offsets = fc.array(fc.nat(), { maxLength: 12 });
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.nat(3),
        space,
        space,
        fc.boolean(),
        offsets,
        (value, indent, a, b, fenced, cuts) => {
          const json = JSON.stringify(value, null, indent);
          const wrapped = `${a}{${b}"value"${a}:${b}${json}${a}}${b}`;
          const written = fenced ? `\`\`\`json\n${wrapped}\n\`\`\`` : wrapped;
          expect(textOf(unwrap(...cut(written, cuts), finish))).toBe(json);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('unwrapOutput passes any other text unchanged, however it is cut', () => {
    const other = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom('{"values":[1]}', '{"value" 1}', '[{"value":1}]', '{"val', 'I cannot.', '```js', ' '.repeat(300)),
    );
    fc.assert(
      fc.property(other, fc.array(fc.nat(), { maxLength: 8 }), (written, cuts) => {
        fc.pre(!/^\s*(```(json)?\s*)?\{\s*"value"\s*:/.test(written));
        expect(textOf(unwrap(...cut(written, cuts), finish))).toBe(written);
      }),
      { numRuns: 1000 },
    );
  });

  it('unwrapOutput emits what follows the value and is not the end of the wrapper', () => {
    expect(textOf(unwrap(text('{"value":[1],"more":2}'), finish))).toBe('[1],"more":2}');
    expect(textOf(unwrap(text('{"value":5'), text('} and more'), finish))).toBe('5} and more');
  });

  it('unwrapOutput emits the value as it arrives', () => {
    expect(unwrap(text('{"value":["a'), text('b"'), text(']'), text('}'), finish)).toEqual([
      text('["a'),
      text('b"'),
      text(']'),
      finish,
    ]);
  });

  it('unwrapOutput emits what it holds before a tool call, an error and the end, and reads each turn from its start', () => {
    const call: Chunk = { type: 'toolCallFragment', name: 'f' };
    expect(unwrap(text('{"va'), call, text('lue":1}'), finish)).toEqual([text('{"va'), call, text('lue":1}'), finish]);
    expect(textOf(unwrap(text('{"value":[1'), call, text(',2]}'), finish))).toBe('[1,2]');
    const error = new Error('no');
    const failed = observe(
      concat(
        from([text('{"va')]),
        throwError(() => error),
      ).pipe(unwrapOutput()),
    );
    expect(failed).toMatchObject({ values: [text('{"va')], error });
    expect(textOf(unwrap(text('{"val')))).toBe('{"val');
    expect(textOf(unwrap(text('{"value":1}'), finish, text('{"value":2}'), finish))).toBe('12');
  });

  it('unwrapOutput starts over on retract, and keeps the place of a provider part', () => {
    const signature: Chunk = { type: 'provider', provider: 'p', data: { signature: 's' } };
    expect(unwrap(text('{"value":[1'), { type: 'retract' }, text('{"value":2}'), finish)).toEqual([
      text('[1'),
      { type: 'retract' },
      text('2'),
      finish,
    ]);
    expect(unwrap(signature, text('{"value":'), text('7}'), signature, finish)).toEqual([
      signature,
      text('7'),
      signature,
      finish,
    ]);
  });
});
