import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { begin, block, end, read, replayed, serverToolsIn, textBlock, toolUse } from './frames.js';

const metadataIn = (...frames: readonly JsonObject[]) =>
  read(begin(), ...frames, ...end())
    .chunks.flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata] : []))
    .slice(1);

describe('BlockReports: tools that Anthropic runs', () => {
  const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'tide' } };

  it('BlockReports emits one event per change of a server tool, with that tool only', () => {
    const found = { type: 'web_search_tool_result', tool_use_id: 's1', content: [{ type: 'web_search_result' }] };
    const { input } = search;
    expect(metadataIn(...block(0, search), ...block(1, found))).toEqual([
      { serverTools: [{ id: 's1', name: 'web_search', input, status: 'running', raw: search }] },
      {
        serverTools: [{ id: 's1', name: 'web_search', input, status: 'completed', output: found.content, raw: found }],
      },
    ]);
  });

  it('BlockReports reads the arguments of a server tool that arrive in deltas', () => {
    const frames = block(
      0,
      { ...search, input: {} },
      { type: 'input_json_delta', partial_json: '{"query":' },
      { type: 'input_json_delta', partial_json: '"tide"}' },
    );
    expect(metadataIn(...frames)).toMatchObject([{ serverTools: [{ input: { query: 'tide' }, raw: search }] }]);
  });

  it.each([
    ['an error object', { type: 'web_search_tool_result_error', error_code: 'unavailable' }, {}],
    ['is_error', 'The server is down.', { is_error: true }],
  ])('BlockReports reports a failure that the result marks by %s', (_, content, fields) => {
    const failed = { type: 'web_search_tool_result', tool_use_id: 's1', content, ...fields };
    expect(metadataIn(...block(0, search), ...block(1, failed))[1]).toMatchObject({
      serverTools: [{ id: 's1', name: 'web_search', status: 'failed', output: content }],
    });
  });

  it.each([
    ['mcp_tool_use', 'mcp_tool_result', 'find_berth'],
    ['server_tool_use', 'tool_search_tool_result', 'tool_search_tool_regex'],
    ['server_tool_use', 'bash_code_execution_tool_result', 'bash_code_execution'],
    ['server_tool_use', 'advisor_tool_result', 'advisor'],
  ])('BlockReports reads %s with %s', (callType, resultType, name) => {
    const call = { type: callType, id: 'x', name, input: { a: 1 } };
    const result = { type: resultType, tool_use_id: 'x', content: [{ type: 'text', text: 'Here.' }] };
    const { chunks, message } = read(begin(), ...block(0, call), ...block(1, result), ...end());
    expect(serverToolsIn(chunks)).toMatchObject([
      { id: 'x', name, status: 'running', raw: call },
      { id: 'x', name, status: 'completed', output: result.content, raw: result },
    ]);
    expect(replayed(message)).toEqual([call, result]);
  });

  it('BlockReports names a result without its call by the type of the result', () => {
    const found = { type: 'web_fetch_tool_result', tool_use_id: 'f1', content: { type: 'web_fetch_result' } };
    expect(metadataIn(...block(0, found))).toMatchObject([{ serverTools: [{ id: 'f1', name: 'web_fetch' }] }]);
  });
});

describe('BlockReports: other blocks', () => {
  it.each([
    [{ type: 'compaction', content: 'We spoke of rivers.', encrypted_content: 'E' }, 'compaction'],
    [{ type: 'fallback', from: { model: 'claude-fable-5-2' }, to: { model: 'claude-opus-5-5' } }, 'fallback'],
    [{ type: 'mcp_tool_listing', mcp_server_name: 'harbour', tools: [] }, 'mcpToolListing'],
    [{ type: 'container_upload', file_id: 'file_1' }, 'containerUpload'],
    [{ type: 'hologram', pixels: [1, 2] }, 'unknown'],
  ])('BlockReports reports %j as %s, and the block is sent back in its position', (reported, name) => {
    const frames = [...textBlock(0, 'Before.'), ...block(1, reported), ...textBlock(2, 'After.')];
    expect(metadataIn(...frames)).toEqual([{ [name]: reported }]);
    const { message, finish } = read(begin(), ...frames, ...end());
    expect(finish?.reason).toBe('stop');
    expect(replayed(message)).toEqual([{ type: 'text', text: 'Before.' }, reported, { type: 'text', text: 'After.' }]);
  });

  const call = { type: 'shell_use', id: 'u1', name: 'shell', input: { command: 'ls' } };

  it.each(['end_turn', 'tool_use'])(
    'BlockReports never lets an unknown call end as if nothing was open, after %s',
    (stopReason) => {
      const { finish, chunks } = read(begin(), ...block(0, call), ...end(stopReason));
      expect(finish).toMatchObject({ reason: 'other', rawReason: stopReason });
      expect(chunks).toContainEqual({ type: 'metadata', metadata: { unknown: call } });
    },
  );

  it('BlockReports lets a response end normally if the unknown call has a result', () => {
    const result = { type: 'shell_tool_result', tool_use_id: 'u1', content: 'a.txt' };
    const { finish } = read(begin(), ...block(0, call), ...block(1, result), ...end());
    expect(finish?.reason).toBe('stop');
  });

  it('BlockReports leaves other finish reasons unchanged', () => {
    const { finish } = read(begin(), ...block(0, call), ...end('max_tokens'));
    expect(finish?.reason).toBe('length');
  });
});

/** Objects with any fields, and a type that no SDK knows. */
const unknownObject = (suffix: string) =>
  fc
    .record({
      type: fc.stringMatching(/^[a-z]{1,6}$/),
      fields: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.jsonValue()),
    })
    .map(({ type, fields }) => ({ ...(fields as JsonObject), type: `zz_${type}${suffix}` }));

describe('unknown events, blocks and deltas', () => {
  it('decodeAnthropic reads the known content, whatever unknown things are between', () => {
    const unknown = fc.oneof(
      unknownObject('').map((event) => [event]),
      unknownObject('').map((started) => [{ type: 'content_block_start', index: 90, content_block: started }]),
      unknownObject('_delta').map((delta) => [{ type: 'content_block_delta', index: 0, delta }]),
      unknownObject('').map((started) => block(91, started, { type: 'input_json_delta', partial_json: '{}' })),
    );
    const known = [begin(), ...textBlock(0, 'Hel', 'lo'), ...toolUse(1, 'a', 'add', '{"x":', '1}'), ...end('tool_use')];
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: known.length - 2 }), unknown), { maxLength: 6 }), (inserts) => {
        const frames = known.flatMap((frame, at) => [
          frame,
          ...inserts.flatMap(([after, extra]) => (after === at ? extra : [])),
        ]);
        const { text, calls, finish } = read(...frames);
        expect(text).toBe('Hello');
        expect(calls).toMatchObject([{ id: 'a', name: 'add', arguments: { x: 1 } }]);
        expect(['toolCalls', 'other']).toContain(finish?.reason);
      }),
      { numRuns: 300 },
    );
  });

  it('decodeAnthropic reports an unknown event, also before the first content', () => {
    const early = { type: 'weather', sky: 'clear' };
    const late = { type: 'weather', sky: 'grey' };
    const { chunks } = read(begin(), early, ...textBlock(0, 'Hi'), late, ...end());
    const events = chunks.flatMap((chunk) =>
      chunk.type === 'metadata' && chunk.metadata['unknown'] ? [chunk.metadata['unknown']] : [],
    );
    expect(events).toEqual([early, late]);
  });
});
