import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import { createAgent, progress } from '../../../lib/index.js';
import { mcpTools } from '../../../lib/tools/mcp/index.js';
import type { McpTool } from '../../../lib/tools/mcp/index.js';
import type { JsonObject, RunEvent } from '../../../lib/index.js';
import { toolCall, scriptedModel } from '../../../lib/testing/index.js';
import { everythingOverHttp, everythingOverStdio } from './servers.js';
import type { Connected } from './servers.js';

const signal = new AbortController().signal;

// @modelcontextprotocol/server-everything is the MCP project's own server for trying clients.
describe.each([
  ['stdio', everythingOverStdio],
  ['streamable HTTP', everythingOverHttp],
])('the tools of a server that is not ours, over %s', (_, start) => {
  let connected: Connected;
  let tools: readonly McpTool[];
  const valuesOf = (name: string, args: JsonObject) => {
    const found = tools.find((tool) => tool.name === name);
    if (!found) throw new Error(`No tool ${name}`);
    return found.execute(args, { signal });
  };

  beforeAll(async () => {
    connected = await start({ capabilities: { elicitation: { form: {}, url: {} } } });
    tools = await firstValueFrom(mcpTools(connected.client));
  });
  afterAll(() => connected.close());

  it('mcpTools lists its tools, with descriptions and parameters for a model', () => {
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image', 'trigger-long-running-operation']),
    );
    const echo = tools.find(({ name }) => name === 'echo');
    expect(echo?.description).toBe('Echoes back the input string');
    expect(echo?.parameters).toEqual({
      type: 'object',
      properties: { message: { type: 'string', description: 'Message to echo' } },
      required: ['message'],
    });
    expect(echo?.definition.annotations?.readOnlyHint).toBe(true);
  });

  it('mcpTools omits its tools that only run as tasks', () => {
    expect(tools.filter(({ definition }) => definition.execution?.taskSupport === 'required')).toEqual([]);
  });

  it('mcpTools returns a text', async () => {
    expect(await firstValueFrom(valuesOf('echo', { message: 'hi' }).pipe(toArray()))).toEqual(['Echo: hi']);
    expect(await lastValueFrom(valuesOf('get-sum', { a: 1, b: 2 }))).toBe('The sum of 1 and 2 is 3.');
  });

  it('mcpTools returns structured content, which the client has validated', async () => {
    expect(await lastValueFrom(valuesOf('get-structured-content', { location: 'Chicago' }))).toEqual({
      temperature: 36,
      conditions: 'Light rain / drizzle',
      humidity: 82,
    });
  });

  it('mcpTools returns images as file parts, and the texts of resources as plain JSON', async () => {
    expect(await lastValueFrom(valuesOf('get-tiny-image', {}))).toEqual([
      { type: 'text', text: "Here's the image you requested:" },
      { type: 'file', mediaType: 'image/png', data: expect.stringMatching(/^iVBORw0KGgo/) },
      { type: 'text', text: 'The image above is the MCP logo.' },
    ]);
    expect(
      await lastValueFrom(valuesOf('get-resource-reference', { resourceType: 'Text', resourceId: 1 })),
    ).toContainEqual({
      type: 'resource',
      resource: expect.objectContaining({ uri: 'demo://resource/dynamic/text/1', mimeType: 'text/plain' }),
    });
  });

  it('mcpTools emits progress before the result', async () => {
    const values = await firstValueFrom(
      valuesOf('trigger-long-running-operation', { duration: 0.06, steps: 3 }).pipe(toArray()),
    );
    // The client drops a progress that comes in one read with the answer, as the server's last one may.
    expect(values.slice(0, 2)).toEqual([progress({ progress: 1, total: 3 }), progress({ progress: 2, total: 3 })]);
    expect(values.at(-1)).toBe('Long running operation completed. Duration: 0.06 seconds, Steps: 3.');
  });

  it('mcpTools cancels a call when it is unsubscribed, and the connection stays usable', async () => {
    const operation = valuesOf('trigger-long-running-operation', { duration: 0.5, steps: 25 });
    expect(await firstValueFrom(operation.pipe(take(1)))).toEqual(progress({ progress: 1, total: 25 }));
    const calls = connected.sent.flatMap((message) =>
      'method' in message && message.method === 'tools/call' && 'id' in message ? message.id : [],
    );
    expect(connected.sent.at(-1)).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: calls.at(-1) },
    });
    expect(await lastValueFrom(valuesOf('echo', { message: 'still here' }))).toBe('Echo: still here');
  });

  it('mcpTools errors with the text of the server', async () => {
    await expect(lastValueFrom(valuesOf('get-resource-reference', { resourceType: 'Nope' }))).rejects.toMatchObject({
      code: 'mcp_tool',
      tool: 'get-resource-reference',
      message: expect.stringContaining('expected one of "Text"|"Blob"'),
    });
  });

  it("mcpTools serves an agent's run: progress, results, and failures that are answered to the model", async () => {
    const calls = [
      toolCall('get-sum', { a: 20, b: 22 }),
      toolCall('trigger-long-running-operation', { duration: 0.04, steps: 2 }),
      toolCall('get-resource-reference', { resourceType: 'Nope' }),
      toolCall('echo'),
    ];
    const model = scriptedModel([calls, 'It is 42.']);
    const ofTools = ({ type }: RunEvent) => type === 'toolProgress' || type === 'toolResult' || type === 'result';
    const events = await firstValueFrom(
      createAgent({ model, tools }).stream('20 + 22?').pipe(filter(ofTools), toArray()),
    );
    expect(events.filter(({ type }) => type !== 'toolProgress')).toEqual([
      { type: 'toolResult', id: 'call_1_1', name: 'get-sum', result: 'The sum of 20 and 22 is 42.' },
      expect.objectContaining({ name: 'trigger-long-running-operation', result: expect.stringContaining('completed') }),
      expect.objectContaining({ name: 'get-resource-reference', error: expect.stringContaining('Invalid option') }),
      {
        type: 'toolResult',
        id: 'call_1_4',
        name: 'echo',
        error: 'Invalid arguments: missing required "message"',
        code: 'invalid_arguments',
      },
      { type: 'result', result: expect.objectContaining({ text: 'It is 42.' }) },
    ]);
    expect(events).toContainEqual(expect.objectContaining({ type: 'toolProgress', value: { progress: 1, total: 2 } }));
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
  });

  it.each([
    ['trigger-elicitation-request', {}, { name: 'Ada', check: true }, 'User Provided the requested information'],
    ['trigger-url-elicitation', { url: 'https://example.com/' }, {}, 'User completed the URL elicitation flow'],
    [
      'trigger-url-elicitation',
      { url: 'https://example.org/', errorPath: true },
      {},
      'User completed the URL elicitation flow',
    ],
  ])('mcpTools passes on what %s asks, and the answer of a resumed run (%j)', async (name, args, answer, expected) => {
    const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall(name, args, 'c1')]));
    const agent = createAgent({ model, tools });
    let result = await firstValueFrom(agent.run('Ask.'));
    for (let round = 0; round < 2 && result.checkpoint && result.waiting?.[0]; round++) {
      const { id, question } = result.waiting[0];
      expect(question?.message).toMatch(/./);
      result = await firstValueFrom(agent.resumeRun(result.checkpoint, { results: { [id]: answer } }));
    }
    expect(JSON.stringify(result.messages)).toMatch(new RegExp(expected, 'i'));
  });
});
