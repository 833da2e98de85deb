import { describe, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { shortestTime } from '../../support/cost.js';
import { delta, read } from './reading.js';

describe('content of chat completions', () => {
  it.each<[string, JsonValue, string, string]>([
    ['a string', 'Hi', 'Hi', ''],
    [
      'text parts',
      [
        { type: 'text', text: 'H' },
        { type: 'text', text: 'i' },
      ],
      'Hi',
      '',
    ],
    [
      'thinking parts with a list',
      [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
        { type: 'text', text: 'Hi' },
      ],
      'Hi',
      'Hm',
    ],
    ['thinking parts with a string', [{ type: 'thinking', thinking: 'Hm' }], '', 'Hm'],
    ['one part without a list', { type: 'text', text: 'Hi' }, 'Hi', ''],
    [
      'references besides text',
      [
        { type: 'reference', reference_ids: [1] },
        { type: 'text', text: 'Hi' },
      ],
      'Hi',
      '',
    ],
  ])('readSegments reads content that is %s', (_, content, text, thinking) => {
    expect(read([delta({ content })])).toMatchObject({ text, thinking });
  });

  it.each(['1', 'null', '""'])(
    'readSegments reads very many parts %s, which have nothing, in a small multiple of the time to parse them',
    (part) => {
      const text = JSON.stringify(delta({ content: ['?'] })).replace('"?"', Array(200_000).fill(part).join());
      const parse = shortestTime(() => JSON.parse(text), 5);
      const decode = shortestTime(() => read([JSON.parse(text)]), 5) - parse;
      expect({ parse, decode, isQuick: decode < 8 * parse }).toEqual({ parse, decode, isQuick: true });
    },
  );

  it.each<[string, JsonObject]>([
    ['reasoning_content', { reasoning_content: 'Hm' }],
    ['reasoning', { reasoning: 'Hm' }],
    ['both with the same text', { reasoning_content: 'Hm', reasoning: 'Hm' }],
    ['an empty one and a full one', { reasoning_content: '', reasoning: 'Hm' }],
    [
      'details only',
      {
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm' },
          { type: 'reasoning.encrypted', data: 'x' },
        ],
      },
    ],
    ['a summary in the details', { reasoning_details: [{ type: 'reasoning.summary', summary: 'Hm' }] }],
    ['both plain and details', { reasoning: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }],
  ])('readPlainReasoning and readReasoningDetails yield thinking once for %s', (_, fields) => {
    expect(read([delta(fields)]).thinking).toBe('Hm');
  });

  it('readReasoningDetails is not read where it repeats plain reasoning with its signature', () => {
    const { thinking, chunks } = read([
      delta({ reasoning: 'Hm' }),
      delta({ reasoning: null, reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 's', index: 0 }] }),
    ]);
    expect(thinking).toBe('Hm');
    expect(chunks).toContainEqual({
      type: 'provider',
      provider: 'server',
      data: { reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 's', index: 0 }] },
    });
  });
});
