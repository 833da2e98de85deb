import { from, lastValueFrom, tap, toArray } from 'rxjs';
import type { Chunk, FinishChunk } from '../../../lib/core/chunk.js';
import type { ToolCallEvent } from '../../../lib/core/event.js';
import { asArray } from '../../../lib/core/json/json.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import type { Message } from '../../../lib/core/message.js';
import type { ServerTool } from '../../../lib/core/metadata.js';
import { accumulateToolCalls } from '../../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../../lib/operators/consolidate.js';
import { decodeResponses } from '../../../lib/providers/openaiResponses/decode.js';
import { serverSupport } from '../../../lib/providers/openaiResponses/serverSupport.js';

/** What the decoder and the operators after it make of a response. */
export interface Read {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ToolCallEvent[];
  readonly message: Message | undefined;
  readonly finish: FinishChunk | undefined;
  readonly error: unknown;
}

/** Decodes events up to the terminal mark or their end, and joins the chunks; `error` is what the decoder threw. */
export async function read(frames: readonly JsonObject[], done = false): Promise<Read> {
  const chunks: Chunk[] = [];
  let error: unknown;
  try {
    const decoder = decodeResponses((chunk) => chunks.push(chunk), {}, serverSupport);
    const terminal = frames.some((frame) => decoder.next(frame) === 'end');
    decoder.end(terminal || done);
  } catch (thrown) {
    error = thrown;
  }
  const calls: ToolCallEvent[] = [];
  const events = await lastValueFrom(
    from(chunks).pipe(
      accumulateToolCalls(),
      tap((event) => event.type === 'toolCall' && calls.push(event)), // consolidate removes the provider data
      consolidate(),
      toArray(),
    ),
  );
  const joined = (type: 'text' | 'thinking') => chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('');
  return {
    chunks,
    text: joined('text'),
    thinking: joined('thinking'),
    calls,
    message: events.find((event) => event.type === 'message')?.message,
    finish: chunks.find((chunk) => chunk.type === 'finish'),
    error,
  };
}

/** An event of the Responses API. */
export type Event = JsonObject;

export const created: Event = {
  type: 'response.created',
  response: { id: 'resp_1', model: 'gpt-5', status: 'in_progress', output: [] },
};
export const itemAdded = (item: JsonObject, index = 0): Event => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
export const itemDone = (item: JsonObject, index = 0): Event => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});
export const textDelta = (text: string, id = 'msg_1', rest: JsonObject = {}): Event => ({
  ...{ type: 'response.output_text.delta', item_id: id, output_index: 0, content_index: 0, delta: text },
  ...rest,
});
export const textDone = (text: string, id = 'msg_1', index = 0): Event => ({
  ...{ type: 'response.output_text.done', item_id: id, output_index: 0, content_index: index, text },
});
export const argumentsDelta = (fragment: string, id = 'fc_1', index = 0): Event => ({
  ...{ type: 'response.function_call_arguments.delta', item_id: id, output_index: index, delta: fragment },
});
export const messageItem = (text: string, id = 'msg_1', annotations: readonly JsonObject[] = []): JsonObject => ({
  ...{
    type: 'message',
    id,
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations }],
  },
});
export const callItem = (rest: JsonObject = {}): JsonObject => ({
  ...{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'add', arguments: '{"a":1}', status: 'completed' },
  ...rest,
});
export const completed = (output: readonly JsonObject[] = [], rest: JsonObject = {}): Event => ({
  type: 'response.completed',
  response: { id: 'resp_1', model: 'gpt-5', status: 'completed', output, ...rest },
});
/** The changes of server-side tools that chunks report. */
export const toolChanges = (chunks: readonly Chunk[]): readonly ServerTool[] =>
  chunks.flatMap((chunk) =>
    chunk.type === 'metadata' ? asArray(chunk.metadata['serverTools'] as readonly ServerTool[] | undefined) : [],
  ) as readonly ServerTool[];

/** The changes of server-side tools that a response reports. */
export const serverReports = async (frames: readonly Event[]) => toolChanges((await read(frames)).chunks);

/** What chunks report of items and events that are not tools. */
export const otherReports = (chunks: readonly Chunk[]) =>
  chunks.flatMap((chunk) =>
    chunk.type === 'metadata' && chunk.metadata['unknown'] !== undefined ? [chunk.metadata['unknown']] : [],
  );
