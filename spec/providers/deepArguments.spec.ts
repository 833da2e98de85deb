import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { MAX_JSON_DEPTH } from '../../lib/core/json/depth.js';
import { userMessage } from '../../lib/core/message.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { google } from '../../lib/providers/google/google.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { ollama } from '../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openTool } from '../checks/conformance/case.js';

const nested = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
const events = (...frames: readonly string[]) => frames.map((frame) => `data: ${frame}\n\n`).join('');

/** One response with a call whose arguments are an object, by the wires that send objects. */
const responses: readonly (readonly [string, typeof ollama, (args: string) => string])[] = [
  [
    'ollama',
    ollama,
    (args) =>
      `{"message":{"tool_calls":[{"function":{"name":"f","arguments":${args}}}]}}\n{"done":true,"done_reason":"stop"}\n`,
  ],
  [
    'google',
    google,
    (args) =>
      events(
        `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${args}}}]},"finishReason":"STOP"}]}`,
      ),
  ],
  [
    'anthropic',
    anthropic,
    (args) =>
      events(
        `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":${args}}}`,
        '{"type":"content_block_stop","index":0}',
        '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}',
        '{"type":"message_stop"}',
      ),
  ],
  [
    'openai-chat',
    openaiChat,
    (args) =>
      events(
        `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":${args}}}]}}]}`,
        '[DONE]',
      ),
  ],
];

const read = (make: typeof ollama, body: string) => {
  const type = body.startsWith('data:') ? 'text/event-stream' : 'application/x-ndjson';
  const options: ModelOptions = {
    apiKey: 'k',
    fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': type } })),
  };
  const chunks = make('m', options).stream({ messages: [userMessage('Hi')], tools: [openTool('f')] });
  return lastValueFrom(chunks.pipe(accumulateToolCalls(), toArray()));
};

describe('arguments that arrive as an object', () => {
  it.each(responses)('arguments of %s with the maximum number of levels are complete', async (_, make, response) => {
    const args = nested(MAX_JSON_DEPTH);
    const calls = (await read(make, response(args))).filter((event) => event.type === 'toolCall');
    expect(calls.map((call) => JSON.stringify(call.arguments))).toEqual([args]);
  });

  it.each(
    responses.flatMap(([name, make, response]) =>
      [MAX_JSON_DEPTH + 1, 600, 20_000].map((levels) => ({ name, make, response, levels })),
    ),
  )('arguments of $name with $levels levels are invalid, and the turn goes on', async ({ make, response, levels }) => {
    const all = await read(make, response(nested(levels)));
    expect(all.filter((event) => event.type === 'toolCall')).toMatchObject([
      { name: 'f', arguments: { _error: 'too_deep', _raw: expect.stringMatching(/^\{"a":/) as unknown } },
    ]);
    expect(all.at(-1)).toMatchObject({ type: 'finish', reason: 'toolCalls' });
  });
});
