import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { delta, read } from './reading.js';

describe('readFragments', () => {
  const fragments = (...deltas: JsonObject[]) =>
    read(deltas.map((fields) => delta(fields))).chunks.flatMap((chunk) => {
      if (chunk.type !== 'toolCallFragment') return [];
      return [Object.fromEntries(Object.entries(chunk).filter(([field]) => field !== 'type'))];
    });

  it('readFragments reads each entry as a fragment and joins nothing', () => {
    expect(
      fragments(
        { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] },
        {
          tool_calls: [
            { index: 0, function: { arguments: '{"x"' } },
            { index: 1, id: '', function: { name: 'g', arguments: { y: 1 } } },
          ],
        },
        { tool_calls: [{ id: 7, name: 'bare', arguments: null }] },
      ),
    ).toEqual([
      { index: 0, id: 'a', name: 'f', arguments: '' },
      { index: 0, arguments: '{"x"' },
      { index: 1, name: 'g', arguments: { y: 1 } },
      { id: '7', name: 'bare', arguments: null },
    ]);
  });

  it('readFragments skips lists that are null or empty, and empty entries', () => {
    expect(
      fragments(
        { tool_calls: null },
        { tool_calls: [] },
        { tool_calls: [null, {}, { index: 0, function: { name: '', arguments: '' } }, 'x'] },
      ),
    ).toEqual([]);
  });

  it('readFragments reads the older function_call only without tool_calls', () => {
    expect(fragments({ function_call: { name: 'f', arguments: '{' } }, { function_call: { arguments: '}' } })).toEqual([
      { name: 'f', arguments: '{' },
      { arguments: '}' },
    ]);
    expect(fragments({ function_call: { name: 'f' }, tool_calls: [{ id: 'a', function: { name: 'f' } }] })).toEqual([
      { id: 'a', name: 'f' },
    ]);
  });
});
