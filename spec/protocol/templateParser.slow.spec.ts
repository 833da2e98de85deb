import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TemplateParser } from '../../lib/protocol/templateParser.js';

const scalar = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
);

it('TemplateParser returns what JSON.parse returns, for any values in a shape, in 300 responses', () => {
  const frames = fc.array(fc.tuple(scalar, scalar), { minLength: 75, maxLength: 80 });
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 2 }), frames, (rest, values) => {
      const texts = values.map(([a, b]) => JSON.stringify({ id: 'one', a, list: [{ rest, b }, 7], last: 'end' }));
      const parser = new TemplateParser();
      expect(texts.map((text) => JSON.stringify(parser.parse(text)))).toEqual(
        texts.map((text) => JSON.stringify(JSON.parse(text))),
      );
    }),
    { numRuns: 300 },
  );
});
