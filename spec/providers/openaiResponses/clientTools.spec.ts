import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { RunEvent } from '../../../lib/core/event.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { filePart, modelMessage, userMessage } from '../../../lib/core/message.js';
import type { ToolCallPart } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import type { Tool } from '../../../lib/core/tool.js';
import { encodeResponses } from '../../../lib/providers/openaiResponses/encode.js';
import { openai } from '../../../lib/providers/openai.js';
import type { ResponsesOptions } from '../../../lib/providers/openai.js';
import { responsesTools } from '../../../lib/providers/openaiResponses/serverTools.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../../lib/testing/server/index.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** Plays one call and then a text. Returns the events of the run, and the bodies of its two requests. */
async function play(own: Tool, args: JsonObject, data: JsonObject, options: Partial<ResponsesOptions> = {}) {
  const call = {
    type: 'toolCallFragment',
    id: 'call_1',
    name: own.name,
    arguments: args,
    done: true,
    providerData: { openai: data },
  } as const;
  const server = await serveModel([[call], 'Done.']);
  servers.push(server);
  const model = openai('gpt-5.6-sol', { apiKey: 'k', baseUrl: server.url, session: true, ...options });
  const run = createAgent({ model, tools: [own] }).stream('Go.');
  const events = await lastValueFrom(run.pipe(toArray()));
  const [first, second] = server.requests.map(({ body }) => body as JsonObject);
  return {
    events,
    first: first ?? {},
    second: second ?? {},
    input: (second?.['input'] ?? []) as readonly JsonObject[],
  };
}

const finishOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'turn' ? [[event.finishReason, event.rawReason]] : []));
const callOf = (events: readonly RunEvent[]) => events.find((event) => event.type === 'toolCall');

/** Tests that a call is executed, answered in a stored conversation, and replayed in a complete one. */
async function expectRoundTrip(own: Tool, args: JsonObject, type: string, item: JsonObject, output: JsonObject) {
  const stored = await play(own, args, { type });
  expect(callOf(stored.events)).toMatchObject({ id: 'call_1', name: own.name });
  expect(finishOf(stored.events)).toEqual([
    ['toolCalls', 'completed'],
    ['stop', 'completed'],
  ]);
  expect(stored.second).toMatchObject({ previous_response_id: 'resp_1', input: [output] });
  const complete = await play(own, args, { type }, { store: false });
  expect(complete.input.map((sent) => sent['type'])).toEqual(['message', type, output['type']]);
  expect(complete.input[1]).toMatchObject({ type, id: expect.any(String) as unknown, call_id: 'call_1', ...item });
  expect(complete.input[2]).toEqual(output);
  expect(finishOf(complete.events)).toEqual(finishOf(stored.events));
  return stored;
}

describe('responsesTools that the client answers, over HTTP', () => {
  it('responsesTools.custom passes the free-form input to its function', async () => {
    const inputs: string[] = [];
    const sql = responsesTools.custom({
      name: 'run_sql',
      description: 'Runs a query.',
      format: { syntax: 'lark', definition: 'start: /.+/' },
      options: { defer_loading: true },
      execute: (input) => {
        inputs.push(input);
        return '1 row';
      },
    });
    const input = 'SELECT "a\\b"\nFROM t -- 😀 and more';
    const { first } = await expectRoundTrip(
      sql,
      { input },
      'custom_tool_call',
      { name: 'run_sql', input },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: '1 row' },
    );
    expect(inputs).toEqual([input, input]);
    expect(first['tools']).toEqual([
      {
        type: 'custom',
        name: 'run_sql',
        description: 'Runs a query.',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
        defer_loading: true,
      },
    ]);
  });

  it('responsesTools.custom keeps the namespace, the caller and the mode of its call', async () => {
    const own = responsesTools.custom({ name: 'note', description: 'Notes.', execute: () => 'noted' });
    const caller = { type: 'program', caller_id: 'call_p' };
    const data = { type: 'custom_tool_call', namespace: 'crm', async: true, caller };
    const { input, events } = await play(own, { input: 'x' }, data, { store: false });
    expect(input[1]).toMatchObject({ type: 'custom_tool_call', namespace: 'crm', async: true, caller });
    expect(input[2]).toEqual({ type: 'custom_tool_call_output', call_id: 'call_1', caller, output: 'noted' });
    const edited = events.flatMap((event) => (event.type === 'message' ? [event.message] : []))[0];
    expect(edited?.parts[0]).toMatchObject({ providerData: { openai: { namespace: 'crm', caller } } });
  });

  it('openai keeps the namespace, the caller and the mode of a function call', async () => {
    const own = tool({ name: 'note', description: 'Notes.', execute: () => 'noted' });
    const caller = { type: 'program', caller_id: 'call_p' };
    const { input } = await play(own, {}, { namespace: 'crm', async: true, caller }, { store: false });
    expect(input[1]).toMatchObject({ type: 'function_call', name: 'note', namespace: 'crm', async: true, caller });
    expect(input[2]).toEqual({ type: 'function_call_output', call_id: 'call_1', caller, output: 'noted' });
  });

  it('responsesTools.shell runs commands and sends the output of each', async () => {
    const shell = responsesTools.shell(
      ({ commands }) =>
        commands.map((command) => ({ stdout: `ran ${command}`, stderr: '', exitCode: command === 'b' ? null : 0 })),
      { skills: [{ name: 's', description: 'd', path: '/s' }] },
    );
    const { first } = await expectRoundTrip(
      shell,
      { commands: ['a', 'b'], timeout_ms: 500, max_output_length: 100 },
      'shell_call',
      { action: { commands: ['a', 'b'], timeout_ms: 500, max_output_length: 100 } },
      {
        type: 'shell_call_output',
        call_id: 'call_1',
        max_output_length: 100,
        output: [
          { stdout: 'ran a', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
          { stdout: 'ran b', stderr: '', outcome: { type: 'timeout' } },
        ],
      },
    );
    expect(first['tools']).toEqual([
      { type: 'shell', environment: { type: 'local', skills: [{ name: 's', description: 'd', path: '/s' }] } },
    ]);
  });

  it('responsesTools.shell reports a failure as the error output', async () => {
    const shell = responsesTools.shell(() => {
      throw new Error('no shell');
    });
    const { input } = await play(shell, { commands: ['a'] }, { type: 'shell_call' });
    expect(input).toMatchObject([
      { type: 'shell_call_output', output: [{ stderr: 'no shell', outcome: { type: 'exit', exit_code: 1 } }] },
    ]);
  });

  it('responsesTools.localShell runs a command and sends its output', async () => {
    const { first } = await expectRoundTrip(
      responsesTools.localShell(({ command }) => command.join(' ')),
      { command: ['ls', '-a'] },
      'local_shell_call',
      { action: { type: 'exec', command: ['ls', '-a'], env: {} } },
      { type: 'local_shell_call_output', call_id: 'call_1', output: 'ls -a' },
    );
    expect(first['tools']).toEqual([{ type: 'local_shell' }]);
  });

  it('responsesTools.applyPatch applies an operation, and reports a failure', async () => {
    const patch = responsesTools.applyPatch(({ type, path }) => {
      if (path === 'b') throw new Error('no such file');
      return `${type} ${path}`;
    });
    const operation = { type: 'update_file', path: 'a', diff: '@@' };
    const { first } = await expectRoundTrip(
      patch,
      operation,
      'apply_patch_call',
      { operation, status: 'completed' },
      { type: 'apply_patch_call_output', call_id: 'call_1', status: 'completed', output: 'update_file a' },
    );
    expect(first['tools']).toEqual([{ type: 'apply_patch' }]);
    const { input } = await play(patch, { type: 'delete_file', path: 'b' }, { type: 'apply_patch_call' });
    expect(input).toEqual([
      { type: 'apply_patch_call_output', call_id: 'call_1', status: 'failed', output: 'no such file' },
    ]);
  });

  it('responsesTools.computer executes actions, sends a screenshot and the acknowledged safety checks', async () => {
    const check = { id: 'sc_1', code: 'malicious_instructions', message: 'Careful.' };
    const screenshot = filePart(new Uint8Array([1, 2, 3]), 'image/png');
    const actions: unknown[] = [];
    const computer = responsesTools.computer((call) => {
      actions.push(...call.actions);
      return { screenshot, acknowledged: call.safetyChecks };
    });
    const output = { type: 'computer_screenshot', image_url: 'data:image/png;base64,AQID' };
    const args = { actions: [{ type: 'click', x: 1, y: 2, button: 'left' }], pending_safety_checks: [check] };
    const { first } = await expectRoundTrip(computer, args, 'computer_call', args, {
      type: 'computer_call_output',
      call_id: 'call_1',
      output,
      acknowledged_safety_checks: [check],
    });
    expect(actions).toEqual([...args.actions, ...args.actions]);
    expect(first['tools']).toEqual([{ type: 'computer' }]);
    const plain = responsesTools.computer(() => screenshot);
    const { input } = await play(plain, { action: { type: 'screenshot' } }, { type: 'computer_call' });
    expect(input).toEqual([{ type: 'computer_call_output', call_id: 'call_1', output }]);
  });

  it('responsesTools.computer that fails is reported as a message, and its call is omitted', async () => {
    const computer = responsesTools.computer(() => {
      throw new Error('no display');
    });
    const { second, input, events } = await play(computer, { actions: [] }, { type: 'computer_call' });
    expect(second).not.toHaveProperty('previous_response_id');
    expect(input.map(({ type, role }) => [type, role])).toEqual([
      ['message', 'user'],
      ['message', 'user'],
    ]);
    expect(JSON.stringify(input[1])).toContain('The computer call failed: no display.');
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { text: 'Done.' } });
  });

  it('responsesTools.toolSearch sends the definitions of the tools that were found', async () => {
    const found = tool({
      name: 'weather',
      description: 'Weather.',
      providerOptions: { openai: { defer_loading: true } },
      execute: () => 'sunny',
    });
    const search = responsesTools.toolSearch({ description: 'Finds tools.', execute: () => [found] });
    const definition = {
      type: 'function',
      name: 'weather',
      description: 'Weather.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
      strict: false,
      defer_loading: true,
    };
    const { first } = await expectRoundTrip(
      search,
      { query: 'rain' },
      'tool_search_call',
      { arguments: { query: 'rain' }, execution: 'client' },
      { type: 'tool_search_output', call_id: 'call_1', execution: 'client', status: 'completed', tools: [definition] },
    );
    expect(first['tools']).toMatchObject([
      { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { required: ['query'] } },
    ]);
  });

  it('responsesTools can be chosen: a custom tool by its name, another by its type', async () => {
    const choose = async (own: Tool) => {
      const server = await serveModel(['Done.']);
      servers.push(server);
      const model = openai('gpt-5.6-sol', { apiKey: 'k', baseUrl: server.url });
      await lastValueFrom(createAgent({ model, tools: [own], toolChoice: { name: own.name } }).stream('Go.'));
      return (server.requests[0]?.body as JsonObject)['tool_choice'];
    };
    expect(await choose(responsesTools.applyPatch(() => null))).toEqual({ type: 'apply_patch' });
    expect(await choose(responsesTools.custom({ name: 'note', description: 'Notes.', execute: () => '' }))).toEqual({
      type: 'custom',
      name: 'note',
    });
  });
});

describe('openai over HTTP', () => {
  it('openai sends the files of a tool result, and the loopback server reads them', async () => {
    const chart = filePart(new Uint8Array([1, 2, 3]), 'image/png');
    const draw = tool({ name: 'draw', description: 'Draws.', execute: () => ['See:', chart] });
    const heard: unknown[] = [];
    const server = await serveModel(({ turn, history }) => {
      heard.push(history.at(-1)?.parts);
      return turn === 1 ? [{ type: 'toolCallFragment', id: 'call_1', name: 'draw', arguments: {} }] : 'A chart.';
    });
    servers.push(server);
    const model = openai('gpt-5.6-sol', { apiKey: 'k', baseUrl: server.url, session: true });
    const { text } = await lastValueFrom(createAgent({ model, tools: [draw] }).run('Draw.'));
    expect(text).toBe('A chart.');
    expect(server.requests[1]?.body).toMatchObject({
      input: [
        {
          type: 'function_call_output',
          output: [
            { type: 'input_text', text: 'See:' },
            { type: 'input_image', image_url: 'data:image/png;base64,AQID' },
          ],
        },
      ],
    });
    expect(heard[1]).toMatchObject([{ type: 'toolResult', id: 'call_1', result: [{ text: 'See:' }, chart] }]);
  });

  it('openai sends each type of call of an edited message, without the id of its item', () => {
    const calls = ['custom_tool_call', 'shell_call', 'apply_patch_call', 'computer_call', 'tool_search_call'];
    const parts = calls.map((type, at): ToolCallPart => ({
      type: 'toolCall',
      id: `c${at}`,
      name: 'tool',
      arguments: { input: 'x' },
      providerData: { openai: { type, id: `item_${at}` } },
    }));
    const results = parts.map(({ id, name }) => ({ type: 'toolResult', id, name, result: null }) as const);
    const messages = [
      userMessage('Go.'),
      modelMessage([{ type: 'text', text: 'Edited.' }, ...parts]),
      userMessage(results),
    ];
    const { body } = encodeResponses('gpt-5.6-sol', { messages });
    const items = body['input'] as readonly JsonObject[];
    expect(items.map(({ type }) => type)).toEqual([
      'message',
      'message',
      'custom_tool_call',
      'shell_call',
      'apply_patch_call',
      'tool_search_call',
      'custom_tool_call_output',
      'shell_call_output',
      'apply_patch_call_output',
      'tool_search_output',
      'message', // the computer call has no screenshot
    ]);
    expect(items.every((item) => !('id' in item))).toBe(true);
  });
});
