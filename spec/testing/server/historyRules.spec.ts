import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { historyRules as anthropicRules } from '../../../lib/testing/server/dialects/anthropic/historyRules.js';
import * as chat from '../../../lib/testing/server/dialects/chatCompletions/historyRules.js';
import { historyRules as cohereRules } from '../../../lib/testing/server/dialects/cohere/historyRules.js';
import { historyRules as googleRules } from '../../../lib/testing/server/dialects/google/historyRules.js';
import { historyObjection } from '../../../lib/testing/server/dialects/historyRules.js';
import type { HistoryRules } from '../../../lib/testing/server/dialects/historyRules.js';
import * as responses from '../../../lib/testing/server/dialects/responses/historyRules.js';

const model = (...content: readonly JsonObject[]): JsonObject => ({ role: 'assistant', content });
const user = (...content: readonly JsonObject[]): JsonObject => ({ role: 'user', content });
const text: JsonObject = { type: 'text', text: 'Hi' };
const search: JsonObject = { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} };
const found: JsonObject = { type: 'web_search_tool_result', tool_use_id: 's1', content: [] };
const call: JsonObject = { type: 'tool_use', id: 'c1', name: 'look', input: {} };
const result: JsonObject = { type: 'tool_result', tool_use_id: 'c1', content: 'a' };
const thought: JsonObject = { type: 'thinking', thinking: 'Hm', signature: 's' };
const toolCalls = { role: 'assistant', tool_calls: [{ id: 'c1' }] };
const toolMessage = { role: 'tool', tool_call_id: 'c1', content: 'a' };
const functionCall = { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] };
const functionResponse = (parts?: readonly JsonObject[]): JsonObject => ({
  role: 'user',
  parts: [{ functionResponse: { name: 'f', response: {}, ...(parts ? { parts } : {}) } }],
});

const chatRules = { ...chat.historyRules, ...chat.textResultRules };
const mistralRules = { ...chat.mistralIdRules, ...chat.mistralOrderRules };
const responsesRules = { ...responses.historyRules, ...responses.completeHistoryRules };

describe.each<[string, HistoryRules, readonly (readonly [RegExp | undefined, readonly JsonObject[]])[]]>([
  [
    'Messages API',
    anthropicRules,
    [
      [undefined, [user(text), model(search, found, thought, text), user(text)]],
      [undefined, [user(text), model(search)]],
      [undefined, [user(text), model(search, call), user(result)]],
      [undefined, [user(text), model(search, call), user(result), model(found, text), user(text)]],
      [/`web_search` tool use with id `s1` was found without/, [user(text), model(search), user(text)]],
      [/`web_search` tool use with id `s1`/, [user(text), model(search, call), user(result, text)]],
      [/`mcp_tool_result` block/, [user(text), model({ ...search, type: 'mcp_tool_use' }), user(text)]],
      [/unexpected `tool_use_id` found in `web_search_tool_result`/, [user(text), model(found, text)]],
      [/web_search_tool_result/, [user(text), model(search, found), user(text), model(found, text), user(text)]],
      [/final block in an assistant message cannot be `thinking`/, [user(text), model(text, thought), user(text)]],
      [/cannot be `thinking`/, [user(text), model({ type: 'redacted_thinking', data: 'x' })]],
      [/server_tool_use\.input: Input should be a valid dictionary/, [user(text), model({ ...search, input: '{"a' })]],
      [
        /text\.citations\.0\.char_location\.file_id: Extra inputs/,
        [user(text), model({ ...text, citations: [{ type: 'char_location', file_id: null }] }), user(text)],
      ],
      [
        /`caller\.tool_id` refers to an unknown/,
        [user(text), model({ ...call, caller: { tool_id: 's9' } }), user(result)],
      ],
      [/cannot end with trailing whitespace/, [user(text), model({ type: 'text', text: 'Hi ' })]],
      [/`tool_use` ids were found without/, [user(text), model(call), user(text, result)]],
    ],
  ],
  [
    'Chat Completions API',
    chatRules,
    [
      [/must be followed by tool messages/, [toolCalls, { role: 'user', content: 'Hi' }]],
      [/must be a response to a preceding message/, [{ role: 'user', content: 'Hi' }, toolMessage]],
      [/expected a string, got null/, [{ role: 'assistant', content: null }]],
      [/Supported values are: 'text'/, [toolCalls, { ...toolMessage, content: [{ type: 'image_url' }] }]],
    ],
  ],
  [
    'Chat API of Mistral',
    mistralRules,
    [
      [/with a length of 9/, [toolCalls, toolMessage]],
      [/Unexpected role 'user' after role 'tool'/, [{ role: 'tool' }, { role: 'user', content: 'Hi' }]],
      [/Expected last role User or Tool/, [{ role: 'assistant', content: 'Hi' }]],
    ],
  ],
  [
    'Gemini API',
    googleRules,
    [
      [undefined, [functionCall, functionResponse()]],
      [/number of function response parts/, [functionCall, { role: 'user', parts: [{ text: 'Hi' }] }]],
      [/immediately after a function call turn/, [{ role: 'user', parts: [{ text: 'Hi' }] }, functionResponse()]],
      [
        /media with a MIME type/,
        [functionCall, functionResponse([{ fileData: { fileUri: 'https://a', mimeType: 'a/b' } }])],
      ],
    ],
  ],
  [
    'Chat API of Cohere',
    cohereRules,
    [
      [undefined, [toolCalls, toolMessage]],
      [/tool calls without results: c1/, [toolCalls, { role: 'user', content: 'Hi' }]],
      [/does not match a tool call/, [toolCalls, toolMessage, toolMessage]],
      [/invalid type of tool content: image_url/, [toolCalls, { ...toolMessage, content: [{ type: 'image_url' }] }]],
    ],
  ],
  [
    'Responses API',
    responsesRules,
    [
      [/No tool output found for function call c1/, [{ type: 'function_call', call_id: 'c1' }]],
      [/No tool call found for function call output/, [{ type: 'function_call_output', call_id: 'c1' }]],
      [
        /without its required following item/,
        [
          { type: 'reasoning', id: 'rs_1' },
          { role: 'user', content: 'Hi' },
        ],
      ],
    ],
  ],
])('the histories that the %s refuses', (_, rules, examples) => {
  it('are refused with its message', () => {
    for (const [message, messages] of examples) {
      const objection = historyObjection(rules, messages);
      if (message) expect(objection).toMatch(message);
      else expect(objection).toBeUndefined();
    }
  });

  it('have a source each', () => {
    for (const source of Object.keys(rules)) expect(source).toMatch(/\w{4}/);
  });
});
