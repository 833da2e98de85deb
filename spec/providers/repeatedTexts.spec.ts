import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../lib/core/chunk.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { readRecording } from '../../lib/observe/recording/readRecording.js';
import { ToolCallAccumulator } from '../../lib/operators/accumulate/accumulator.js';
import { createViewFold } from '../../lib/operators/view/viewFold.js';
import { emptyView } from '../../lib/operators/view/view.js';
import { BlockReports } from '../../lib/providers/anthropic/blockReports.js';
import { CallDecoder } from '../../lib/providers/google/calls.js';
import { PartReports } from '../../lib/providers/google/partReports.js';
import { OutputDecoder } from '../../lib/providers/openaiResponses/output.js';
import { createRestorer } from '../../lib/transport/compactEvents.js';

// A long text of a stranger that is repeated for each of many small things takes the product of both.

const LONG = 'x'.repeat(20_000);
const COUNT = 500;
const each = <T>(of: (index: number) => T): readonly T[] => Array.from({ length: COUNT }, (_, index) => of(index));

function collect() {
  const chunks: Chunk[] = [];
  return { chunks, emit: (chunk: Chunk) => void chunks.push(chunk) };
}

const labelled = (first: { readonly id?: string; readonly name?: string }) => {
  const calls = new ToolCallAccumulator();
  return each((index) => {
    const fragment = { type: 'toolCallFragment' as const, index: 0, arguments: '1', ...(index === 0 ? first : {}) };
    const call = calls.addFragment(fragment);
    return call && calls.label(fragment, call);
  });
};

const readers: Readonly<Record<string, () => unknown>> = {
  'the name of a call, in its fragments': () => labelled({ id: 'a', name: LONG }),
  'the id of a call, in its fragments': () => labelled({ id: LONG, name: 'a' }),
  'the id of an item of OpenAI, in its fragments': () => {
    const out = collect();
    const decoder = new OutputDecoder(out, undefined);
    const item = { type: 'function_call', id: LONG, name: 't', call_id: 'c' };
    decoder.addEvent('response.output_item.added', { output_index: 0, item });
    for (const delta of each(() => '1'))
      decoder.addEvent('response.function_call_arguments.delta', { output_index: 0, delta });
    return out.chunks;
  },
  'the input of a tool of Anthropic, in its results': () => {
    const out = collect();
    const reports = new BlockReports(out);
    reports.add({ type: 'server_tool_use', id: 'a', name: 'web_search', input: { query: LONG } });
    for (const content of each(() => [])) reports.add({ type: 'web_search_tool_result', tool_use_id: 'a', content });
    return out.chunks;
  },
  'the input of a tool of Google, in its results': () => {
    const out = collect();
    const reports = new PartReports(out);
    reports.add({ toolCall: { id: 'a', toolType: 'X', args: { query: LONG } } });
    for (const response of each(() => ({}))) reports.add({ toolResponse: { id: 'a', response } });
    return out.chunks;
  },
  'the id of a response of Google, in its calls': () => {
    const out = collect();
    const reports = new PartReports(out);
    reports.responseId = LONG;
    for (const executableCode of each(() => ({}))) reports.add({ executableCode });
    return out.chunks;
  },
  'the signature of a call of Google, in its fragments': () => {
    const out = collect();
    const calls = new CallDecoder(out);
    calls.add({ name: 't', willContinue: true }, LONG);
    for (const args of each(() => 'x')) calls.add({ willContinue: true, args }, undefined);
    return out.chunks;
  },
  'the id of a call, in those of a run inside it': () => {
    const fold = createViewFold(emptyView);
    const call = { id: LONG, name: 'agent', arguments: {} };
    for (const type of ['toolCall', 'toolStart'] as const) fold.add({ type, ...call });
    const parts = each((index) => ({ type: 'toolResult', id: `i${index}`, name: 't', result: 1 }) as const);
    const event = { type: 'message', message: { role: 'user', parts } };
    return fold.add({ type: 'nested', id: LONG, name: 'agent', event } as StreamEvent);
  },
  'a text that was streamed, in a message': () => {
    const restore = createRestorer();
    restore({ type: 'text', text: LONG } as StreamEvent);
    const ranges = each(() => ({ type: 'text', range: [0, LONG.length] }));
    return restore({ type: 'message', message: { role: 'model', parts: ranges } } as unknown as StreamEvent);
  },
  'the fields of a delta, in a recording': () => {
    const fields = Object.fromEntries(each((index) => [`field${index}`, LONG.slice(0, 40)]));
    const deltas = { type: 'deltas', at: 0, run: 1, of: 'event', field: 'text', texts: each(() => 'a'), after: [] };
    return readRecording(
      [
        { type: 'recording', version: 1, at: 0, content: true },
        { type: 'start', at: 0, run: 1, kind: 'run' },
        { ...deltas, value: { type: 'text', text: '', ...fields } },
      ].map((line) => JSON.stringify(line)),
    );
  },
};

describe('what strangers send once', () => {
  it.each(Object.keys(readers))('is not repeated: %s', (reader) => {
    expect(JSON.stringify(readers[reader]?.()).length).toBeLessThan(10 * (LONG.length + 100 * COUNT));
  });
});
