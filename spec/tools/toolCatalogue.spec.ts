import { afterEach, describe, expect, it } from '@jest/globals';
import { BehaviorSubject, lastValueFrom, of } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { ModelRequest } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { modelByName } from '../../lib/providers/registry/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';
import { toolCatalogue } from '../../lib/tools/toolCatalogue.js';
import type { ToolCatalogueOptions } from '../../lib/tools/toolCatalogue.js';
import { observe } from '../support/observe.js';

const namesOf = (request: ModelRequest | undefined) => request?.tools?.map(({ name }) => name);
const city = { type: 'object', properties: { city: { type: 'string' } } } as const;
const weather = tool({
  name: 'get_weather',
  description: 'Returns the weather of a place.',
  parameters: city,
  execute: () => of({ degrees: 7 }),
});
const pay = tool({
  name: 'payInvoice',
  description: 'Pays a bill.',
  needsApproval: true,
  execute: () => 'paid',
});
const today = tool({ name: 'today', description: 'Returns the date.', execute: () => '2026-11-23' });
const listOrders = tool({ name: 'list_orders', description: 'Lists the orders of a customer.', execute: () => [] });
const search = (query: string, id = 's1') => toolCall('search_tools', { query }, id);
const servers: LoopbackServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe('toolCatalogue', () => {
  it('toolCatalogue sends a search tool, and what was found from then on', () => {
    const model = scriptedModel([[search('weather forecast')], [toolCall('get_weather', { city: 'Oslo' })], '7 °C.']);
    const agent = createAgent({ model, ...toolCatalogue([weather, pay, listOrders], { always: [today] }) });
    const { values } = observe(agent.run('How warm is it in Oslo?'));
    expect(values).toMatchObject([{ text: '7 °C.', finishReason: 'stop' }]);
    expect(model.requests.map(namesOf)).toEqual([
      ['search_tools', 'today'],
      ['search_tools', 'today', 'get_weather'],
      ['search_tools', 'today', 'get_weather'],
    ]);
    expect(model.requests[1]?.messages.at(-1)?.parts).toMatchObject([
      { result: { tools: [{ name: 'get_weather', description: 'Returns the weather of a place.' }] } },
    ]);
  });

  it('toolCatalogue keeps what was found in the next run of the conversation', () => {
    const model = scriptedModel([[search('weather')], 'Found.', 'Yes.']);
    const agent = createAgent({ model, ...toolCatalogue([weather, pay]) });
    const first = observe(agent.run('Can you tell the weather?')).values[0];
    observe(agent.run('Still?', { history: first?.messages ?? [] }));
    expect(namesOf(model.requests[2])).toEqual(['search_tools', 'get_weather']);
  });

  it.each(['functions.get_weather', 'default_api:get_weather', 'get_weather<|channel|>commentary'])(
    'toolCatalogue loads a tool that the model called without a search as %s',
    (name) => {
      const model = scriptedModel([[toolCall(name, {})], [toolCall(name, { city: 'Oslo' })], '7 °C.']);
      const { values } = observe(createAgent({ model, ...toolCatalogue([weather, pay]) }).run('How warm is it?'));
      expect(namesOf(model.requests[1])).toEqual(['search_tools', 'get_weather']);
      expect(values[0]?.messages.at(-2)?.parts).toMatchObject([{ result: { degrees: 7 } }]);
    },
  );

  it.each([
    ['an array', () => toolCatalogue([weather, pay])],
    ['an Observable', () => toolCatalogue(of([weather, pay]))],
  ])('toolCatalogue of %s continues a found call that waited for an approval, in another process', (_, catalogue) => {
    const model = scriptedModel([[search('pay invoice')], [toolCall('payInvoice', {}, 'p1')], 'Paid.']);
    const options = { checkpoints: true } as const;
    const waiting = observe(createAgent({ model, ...catalogue() }).run('Pay', options)).values[0];
    expect(waiting).toMatchObject({ finishReason: 'waiting', waiting: [{ id: 'p1', name: 'payInvoice' }] });
    const stored = JSON.parse(JSON.stringify(waiting?.checkpoint)) as NonNullable<typeof waiting>['checkpoint'];
    if (!stored) throw new Error('no checkpoint');
    const resumed = createAgent({ model, ...catalogue() }).resumeRun(stored, { decisions: { p1: { approve: true } } });
    expect(observe(resumed).values).toMatchObject([{ text: 'Paid.', finishReason: 'stop' }]);
    expect(model.requests[2]?.messages.at(-1)?.parts).toMatchObject([{ type: 'toolResult', result: 'paid' }]);
  });

  it('toolCatalogue follows a list that changes', () => {
    const lists = new BehaviorSubject<readonly Tool[]>([weather]);
    const model = scriptedModel([
      () => {
        lists.next([weather, listOrders]);
        return [search('orders of a customer', 's1'), search('weather', 's2')];
      },
      () => {
        lists.next([listOrders]);
        return [toolCall('get_weather', { city: 'Oslo' })];
      },
      'Gone.',
    ]);
    observe(createAgent({ model, ...toolCatalogue(lists) }).run('Hi'));
    expect(model.requests.map(namesOf)).toEqual([
      ['search_tools'],
      ['search_tools', 'get_weather', 'list_orders'],
      ['search_tools', 'list_orders'],
    ]);
    expect(lists.observed).toBe(false);
  });

  it.each([
    ['the search tool', [{ ...listOrders, name: 'search_tools' }, weather]],
    ['an earlier tool', [weather, { ...listOrders, name: 'get_weather' }]],
    ['a tool that is always there', [{ ...listOrders, name: 'today' }, weather]],
  ])('toolCatalogue leaves out a tool of an Observable that has the name of %s', (_, foreign) => {
    const model = scriptedModel([[search('weather customer')], [toolCall('get_weather', { city: 'Oslo' })], '7 °C.']);
    const agent = createAgent({ model, ...toolCatalogue(of<readonly Tool[]>(foreign), { always: [today] }) });
    const { values, error } = observe(agent.run('How warm is it?'));
    expect([error, values[0]?.text, namesOf(model.requests[1])]).toEqual([
      undefined,
      '7 °C.',
      ['search_tools', 'today', 'get_weather'],
    ]);
    expect(values[0]?.messages.at(-2)?.parts).toMatchObject([{ result: { degrees: 7 } }]);
  });

  it('toolCatalogue has each tool once in its `tools`, and in each request, also one that is always there', () => {
    const { tools, prepareTurn } = toolCatalogue([today, weather, pay], { always: [today] });
    expect(tools.map(({ name }) => name)).toEqual(['search_tools', 'today', 'get_weather', 'payInvoice']);
    const called = modelMessage([
      { type: 'toolCall', id: '1', name: 'today', arguments: {} },
      { type: 'toolCall', id: '2', name: 'payInvoice', arguments: {} },
    ]);
    expect(prepareTurn({ messages: [called] }).tools).toEqual([tools[0], today, pay]);
    expect(toolCatalogue(of([weather]), { always: [today] }).tools.map(({ name }) => name)).toEqual([
      'search_tools',
      'today',
    ]);
  });

  it('toolCatalogue finds tools only in the results of its search', () => {
    const { prepareTurn } = toolCatalogue([weather, pay, listOrders]);
    const found = (name: string) => ({ tools: [{ name }, 'list_orders', { name: 7 }] }) as unknown as JsonObject;
    const messages = [
      userMessage([
        { type: 'toolResult', id: '1', name: 'other', result: found('payInvoice') },
        { type: 'toolResult', id: '2', name: 'search_tools', result: found('get_weather') },
        { type: 'toolResult', id: '3', name: 'search_tools', error: 'broken' },
        { type: 'toolResult', id: '4', name: 'search_tools', result: { tools: 'list_orders' } },
        { type: 'text', text: 'list_orders' },
      ]),
    ];
    expect(prepareTurn({ messages }).tools.map(({ name }) => name)).toEqual(['search_tools', 'get_weather']);
  });

  it('toolCatalogue tells the model to search with other words if nothing matches', () => {
    const model = scriptedModel([[search('knit a pullover')], 'No.']);
    observe(createAgent({ model, ...toolCatalogue([weather]) }).run('Hi'));
    expect(model.requests[1]?.messages.at(-1)?.parts).toMatchObject([
      { result: { tools: [], hint: 'No tool matches. Search with other words.' } },
    ]);
  });

  it('toolCatalogue takes a score, a count and a name', () => {
    const all = Array.from({ length: 9 }, (_, at) => tool({ name: `t${at}`, description: '', execute: () => at }));
    const model = scriptedModel([[toolCall('find', { query: 'x' })], 'Done.']);
    const score = (query: string, list: readonly Tool[]) => list.map((_, at) => (query === 'x' ? at - 5 : 0));
    observe(createAgent({ model, ...toolCatalogue(all, { score, count: 2, name: 'find' }) }).run('Hi'));
    expect(namesOf(model.requests[1])).toEqual(['find', 't7', 't8']);
  });

  it.each([
    [{ always: weather }, 'toolCatalogue: "always" is of the type object.'],
    [{ count: 0 }, 'count'],
    [{ scorer: () => [] }, 'there is no option "scorer". Did you mean "score"?'],
    [
      { name: 'get_weather' },
      'a tool of the catalogue is named "get_weather", as the tool that searches. ' +
        'Set the option "name" to another name.',
    ],
    [{ name: 'today', always: [today] }, 'a tool of the catalogue is named "today"'],
  ])('toolCatalogue rejects %j', (options, message) => {
    expect(() => toolCatalogue([weather], options as ToolCatalogueOptions)).toThrow(message);
  });

  it('toolCatalogue reports a tool with the name of its search as an error of the tools', () => {
    const rejected = expect.objectContaining({ code: 'configuration', subject: 'tools' });
    expect(() => toolCatalogue([weather], { name: 'get_weather' })).toThrow(rejected);
  });

  it.each(['openai-chat', 'openai', 'anthropic', 'google', 'ollama'])(
    'toolCatalogue finds one of 3,000 tools over HTTP: %s',
    async (provider) => {
      const many = Array.from({ length: 3000 }, (_, at) =>
        tool({
          name: `report_${at}`,
          description: `Prints the report number ${at} of a department.`,
          execute: () => at,
        }),
      );
      const script = [[search('weather in a city')], [toolCall('get_weather', { city: 'Oslo' }, 'w1')], '7 °C.'];
      const server = await serveModel(script);
      servers.push(server);
      const model = modelByName(provider, { baseUrl: server.urlFor(provider), apiKey: 'none' });
      const agent = createAgent({ model, ...toolCatalogue([...many, weather]) });
      const { text } = await lastValueFrom(agent.run('How warm is it in Oslo?'));
      expect(text).toContain('7 °C.');
      const sizes = server.requests.map(({ body }) => JSON.stringify((body as JsonObject)['tools']).length);
      expect(Math.max(...sizes)).toBeLessThan(2000);
    },
  );
});
