import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { filePart, userMessage } from '../../../lib/core/message.js';
import { toolDefinition } from '../../../lib/core/tool.js';
import type { Tool } from '../../../lib/core/tool.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { encodeAnthropic } from '../../../lib/providers/anthropic/encode.js';
import { anthropicTools } from '../../../lib/providers/anthropic/serverTools.js';
import { toolCall } from '../../../lib/testing/script.js';
import { bodiesOf, serve } from './serve.js';

const model = 'claude-sonnet-5-5';
const sentTools = (...tools: readonly Tool[]) =>
  encodeAnthropic(model, { messages: [userMessage('Hi')], tools: tools.map(toolDefinition) }).body['tools'];
const cache_control = { type: 'ephemeral' };

describe('anthropicTools: tools that the application runs', () => {
  it('anthropicTools.bash, textEditor and memory are sent with their versioned type, without a schema', () => {
    const execute = () => 'done';
    expect(
      sentTools(
        anthropicTools.bash({ execute, definition: { cache_control } }),
        anthropicTools.textEditor({ execute, definition: { max_characters: 10_000 } }),
        anthropicTools.memory({ execute }),
        anthropicTools.bash({ execute, definition: { type: 'bash_20990101' } }),
      ),
    ).toEqual([
      { name: 'bash', type: 'bash_20250124', cache_control },
      { name: 'str_replace_based_edit_tool', type: 'text_editor_20250728', max_characters: 10_000 },
      { name: 'memory', type: 'memory_20250818' },
      { name: 'bash', type: 'bash_20990101' },
    ]);
  });

  it('anthropicTools.computer is one entry, in which the actions that are left out are disabled', () => {
    const all = anthropicTools.computer({ execute: () => 'done', definition: { cache_control } });
    expect(sentTools(...all)).toEqual([{ type: 'computer_toolset_20260801', cache_control }]);
    expect(sentTools(...all.filter(({ name }) => name !== 'zoom' && name !== 'wait'))).toEqual([
      {
        type: 'computer_toolset_20260801',
        cache_control,
        configs: { wait: { enabled: false }, zoom: { enabled: false } },
      },
    ]);
  });

  it('anthropicTools describe their arguments for the models of other providers', () => {
    const execute = () => 'done';
    expect(toolDefinition(anthropicTools.bash({ execute })).parameters).toMatchObject({
      properties: { command: { type: 'string' } },
    });
    expect(toolDefinition(anthropicTools.memory({ execute })).parameters).toMatchObject({
      properties: { command: { enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] } },
      required: ['command'],
    });
  });

  it('anthropicTools.bash runs the command of the model, and its result is sent back', () =>
    serve([[toolCall('bash', { command: 'ls' })], 'Two files.'], {}, async (server) => {
      const bash = anthropicTools.bash({ execute: ({ command }) => `ran ${command}` });
      const agent = createAgent({ model: anthropic(model, { apiKey: 'k', baseUrl: server.url }), tools: [bash] });
      const { text } = await lastValueFrom(agent.run('What is here?'));
      expect(text).toContain('Two files.');
      const [first, second] = bodiesOf(server);
      expect(first?.['tools']).toEqual([{ name: 'bash', type: 'bash_20250124' }]);
      expect(second?.['messages']).toMatchObject([{}, {}, { content: [{ type: 'tool_result', content: 'ran ls' }] }]);
    }));

  it('anthropicTools.textEditor answers a call without a required field as invalid', () => {
    const calls = [
      toolCall('str_replace_based_edit_tool', { command: 'create', path: '/a' }),
      toolCall('str_replace_based_edit_tool', { command: 'fly' }),
      toolCall('str_replace_based_edit_tool', { command: 'insert', path: '/a', insert_line: 1, insert_text: 'x' }),
    ];
    return serve([calls, 'Sorry.'], {}, async (server) => {
      const editor = anthropicTools.textEditor({ execute: ({ command, path }) => `${command} ${path}` });
      const agent = createAgent({ model: anthropic(model, { apiKey: 'k', baseUrl: server.url }), tools: [editor] });
      const events = await lastValueFrom(agent.stream('Edit.').pipe(toArray()));
      const results = events.flatMap((event) => (event.type === 'toolResult' ? [event.error ?? event.result] : []));
      expect(results).toEqual([
        expect.stringContaining('file_text: expected string for the command create'),
        expect.stringContaining('command: expected one of view, create, str_replace, insert'),
        'insert /a',
      ]);
    });
  });

  it('anthropicTools.computer performs the actions of a toolset, whose name is sent back with the screenshot', () => {
    const click = {
      ...toolCall('left_click', { coordinate: [3, 4] }),
      providerData: { anthropic: { toolset_name: 'computer' } },
    };
    return serve([[click], 'Clicked.'], {}, async (server) => {
      const actions: unknown[] = [];
      const computer = anthropicTools.computer({
        execute: (action) => {
          actions.push(action);
          return filePart(new Uint8Array([1, 2, 3]), 'image/png');
        },
      });
      const agent = createAgent({ model: anthropic(model, { apiKey: 'k', baseUrl: server.url }), tools: computer });
      const { text } = await lastValueFrom(agent.run('Click.'));
      expect(text).toContain('Clicked.');
      expect(actions).toEqual([{ action: 'left_click', coordinate: [3, 4] }]);
      const [, model_, results] = bodiesOf(server)[1]?.['messages'] as readonly JsonObject[];
      expect(model_?.['content']).toMatchObject([{ type: 'tool_use', name: 'left_click', toolset_name: 'computer' }]);
      expect(results?.['content']).toMatchObject([
        { type: 'tool_result', toolset_name: 'computer', content: [{ type: 'image' }] },
      ]);
    });
  });

  it('anthropicTools.toolSearch finds a deferred tool, which the model then calls', () => {
    const search = {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'tool_search_tool_regex',
      input: { query: 'tide' },
    };
    const found = {
      type: 'tool_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'tool_search_tool_search_result',
        tool_references: [{ type: 'tool_reference', tool_name: 'tide' }],
      },
    };
    const serverTools = [search, found].map((raw) => ({ id: 'srvtoolu_1', name: search.name, raw }));
    const tide: Tool = {
      name: 'tide',
      description: 'Looks up the tide.',
      parameters: { type: 'object' },
      providerOptions: { anthropic: { defer_loading: true } },
      execute: () => 'low',
    };
    return serve([[{ type: 'metadata', metadata: { serverTools } }, toolCall('tide')], 'Low.'], {}, async (server) => {
      const options = { apiKey: 'k', baseUrl: server.url, serverTools: [anthropicTools.toolSearch()] };
      const agent = createAgent({ model: anthropic(model, options), tools: [tide] });
      const result = await lastValueFrom(agent.run('How is the tide?'));
      expect(result.metadata?.['serverTools']).toMatchObject([
        { id: 'srvtoolu_1', status: 'completed', input: { query: 'tide' }, output: found.content },
      ]);
      const [first, second] = bodiesOf(server);
      expect(first?.['tools']).toMatchObject([
        { name: 'tide', defer_loading: true },
        { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
      ]);
      expect(second?.['messages']).toMatchObject([
        {},
        { role: 'assistant', content: [search, found, { type: 'tool_use', name: 'tide' }] },
        {},
      ]);
    });
  });

  it('anthropic reports a compaction and an unknown block over a socket, and sends both back', () => {
    const compaction = { type: 'compaction', content: 'We spoke of rivers.', encrypted_content: 'E1' };
    const unknown = { type: 'hologram', pixels: [1, 2] };
    return serve(
      [[{ type: 'metadata', metadata: { compaction } }, { type: 'metadata', metadata: { unknown } }, 'Go on.'], 'Yes.'],
      {},
      async (server) => {
        const agent = createAgent({ model: anthropic(model, { apiKey: 'k', baseUrl: server.url }) });
        const first = await lastValueFrom(agent.run('Hi'));
        expect(first.metadata).toMatchObject({ compaction, unknown });
        await lastValueFrom(agent.run('And?', { history: [userMessage('Hi'), ...first.messages] }));
        expect(bodiesOf(server)[1]?.['messages']).toMatchObject([
          {},
          { content: [compaction, unknown, { type: 'text', text: 'Go on.' }] },
          {},
        ]);
      },
    );
  });
});
