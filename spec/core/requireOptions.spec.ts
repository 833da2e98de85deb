import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { openai } from '../../lib/providers/openai.js';
import { openaiCompatible } from '../../lib/providers/openaiCompatible.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';

/** What JavaScript may pass: functions without their types. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- inferred from where it is passed
const inJavaScript = <T>(value: unknown) => value as T;

const create = (options: object) =>
  createAgent(inJavaScript<AgentOptions>({ model: scriptedModel(['Hi']), ...options }));
const run = (options: object, input: unknown = 'Hi') => create({}).run(inJavaScript(input), inJavaScript(options));
const define = (options: object) =>
  tool(inJavaScript<Parameters<typeof tool>[0]>({ name: 'look', description: '', execute: () => 1, ...options }));
const ask = (model: Model) => model.stream({ messages: [userMessage('Hi')] });
const askOpenai = (options: unknown) => ask(openai('gpt-6.1-terra', inJavaScript(options)));
const answer = (response: unknown) => askOpenai({ apiKey: 'k', fetch: () => Promise.resolve(response) });

/** The error that a function throws, or its Observable emits. */
async function errorOf(action: () => Observable<unknown>): Promise<unknown> {
  try {
    return await lastValueFrom(action());
  } catch (thrown) {
    return thrown;
  }
}

describe('requireOptions', () => {
  it.each<[string, () => unknown, string, RegExp]>([
    ['maxTurn', () => create({ maxTurn: 3 }), 'options', /^createAgent: .*"maxTurn"\. Did you mean "maxTurns"\?$/],
    ['instructions', () => create({ instructions: 'Be brief.' }), 'options', /Did you mean "system"\?$/],
    ['histroy', () => run({ histroy: [] }), 'options', /^agent\.stream: .*"histroy"\. Did you mean "history"\?$/],
    ['messages', () => run({ messages: [] }), 'options', /Did you mean "history"\?$/],
    ['baseURL', () => askOpenai({ baseURL: 'https://a.b' }), 'options', /openai: .*Did you mean "baseUrl"\?$/],
    ['inputSchema', () => define({ inputSchema: {} }), 'options', /the tool "look": .*Did you mean "parameters"\?$/],
    [
      'temperature',
      () => create({ temperature: 'hot' }),
      'options',
      /"temperature" is of the type string\. Pass a .* number\.$/,
    ],
    ['tools as an object', () => create({ tools: { look: define({}) } }), 'options', /"tools" is .* object\. .* array/],
    ['an undefined tool', () => create({ tools: [undefined] }), 'options', /options of a tool are of the type undef/],
    [
      'a name with a space',
      () => define({ name: 'my tool' }),
      'tools',
      /^No provider accepts a tool with the name "my tool"\./,
    ],
    ['a tool without a name', () => create({ tools: [{}] }), 'tools', /^No provider accepts a tool with the name ""\./],
    ['execute as a text', () => define({ execute: 'look' }), 'options', /"execute" is .* string\. .* function\.$/],
    [
      'an approval as NaN',
      () => define({ needsApproval: NaN }),
      'options',
      /"needsApproval" is NaN\. .* boolean or func/,
    ],
    [
      'an approval as a text',
      () => create({ tools: [{ ...define({}), needsApproval: 'yes' }] }),
      'options',
      /"needsApp/,
    ],
    ['an object as output', () => create({ output: {} }).run('Hi'), 'output', /not a typed output\. Wrap its schema/],
    [
      'no options',
      () => createAgent(inJavaScript<AgentOptions>(undefined)),
      'options',
      /^The options of createAgent are of the type/,
    ],
    ['stop as a function', () => run({ stop: () => 1 }), 'options', /"stop" is .* function\. .* type Observable\.$/],
    ['stop as an object', () => run({ stop: {} }), 'options', /"stop" is .* object\. .* type Observable\.$/],
    ['cancel as a number', () => run({ cancel: 5 }), 'options', /"cancel" is 5\. .* type Observable\.$/],
    ['prompts as a number', () => run({ prompts: 5 }), 'options', /"prompts" is 5\. .* type Observable\.$/],
    ['a controller as signal', () => run({ signal: new AbortController() }), 'options', /"signal" .* AbortSignal\.$/],
    ['a model without a name', () => ask(openai(inJavaScript(undefined))), 'options', /openai: "name" .* string\.$/],
    ['history as an object', () => run({ history: {} }), 'options', /"history" is of the type object/],
    ['a message of OpenAI', () => run({}, { role: 'user', content: 'Hi' }), 'history', /Message 0 .*"content":"Hi"/],
    ['an assistant', () => run({ history: [{ role: 'assistant', parts: [] }] }), 'history', /system, user, model\.$/],
    ['parts as a text', () => run({ history: [{ role: 'user', parts: 'Hi' }] }), 'history', /Use userMessage\(text\)/],
    ['parts without a type', () => run({}, { role: 'user', parts: [{ text: 'Hi' }] }), 'history', /Message 0/],
    ['a number as input', () => run({}, 5), 'history', /^Message 0 of the run is not a message: 5\./],
    ['a number as baseUrl', () => askOpenai({ apiKey: 'k', baseUrl: 5 }), 'options', /"baseUrl" is 5\. .* string\.$/],
    [
      'a text as fetch',
      () => askOpenai({ apiKey: 'k', fetch: 'x' }),
      'options',
      /"fetch" is .* string\. .* function\.$/,
    ],
    ['a key as options', () => askOpenai('sk-1'), 'options', /^The options of the model of openai are of the type str/],
    [
      'baseURL of a server',
      () => ask(openaiCompatible(inJavaScript({ name: 'groq', baseURL: 'https://a.b' }))('m')),
      'options',
      /groq: .*"baseUrl"/,
    ],
    ['no baseUrl', () => ask(openaiCompatible(inJavaScript({ name: 'x' }))('m')), 'options', /baseUrl of x is empty/],
    ['fetch without a Response', () => answer(undefined), 'options', /returned undefined instead of a Response/],
    ['a body as a text', () => answer({ status: 200, headers: new Headers(), body: '' }), 'options', /instead of a Re/],
    ['no headers', () => answer({ status: 200, ok: true, body: null }), 'options', /instead of a Response/],
  ])('requireOptions explains %s', async (_, action, subject, message) => {
    const error = await errorOf(() => action() as Observable<unknown>);
    expect(error).toMatchObject({ code: 'configuration', subject, message: expect.stringMatching(message) as unknown });
  });

  /** What a function of the user, or a notifier of a run, may return: the cell has the part of the error about it. */
  const noRequest = /^route returned no request\. Return \{ path, body \}\.$/;
  const noPromise = /^\w+ returned a Promise\. Return the value itself, not in the future\.$/;
  const noText = /^newId returned no text\. Return another text at each call\.$/;
  const noModel = /returned no model\. Pass what a provider's function returns/;
  const wrongTurn = /a turn \(prepareTurn\)/;
  const noMessage = /^Message 0 of the run is not a message/;
  const notJson = /^The result of the tool "look" is not JSON \(.+\)\. Pass a valid result/;
  const values: readonly (readonly [string, unknown, string, RegExp])[] = [
    ...[undefined, null, 5, 'x', {}, [], { path: '/x' }].map(
      (value) => ['route', value, 'options', noRequest] as const,
    ),
    ...[
      { path: 5, body: {} },
      { path: '/x', body: 5 },
    ].map((value) => ['route', value, 'options', noRequest] as const),
    ['route', Promise.resolve({ path: '/x', body: {} }), 'options', noPromise],
    ['newId', Promise.resolve('id'), 'options', noPromise],
    ...[undefined, null, 5, {}].map((value) => ['newId', value, 'options', noText] as const),
    ...[5, 'x', true, of(5), Promise.resolve(7), () => 1].map(
      (value) => ['prepareTurn', value, 'options', wrongTurn] as const,
    ),
    ...[{ tools: 5 }, { tools: null }, { messages: 'Hi' }, { toolChoice: 5 }, { toolz: [] }].map(
      (value) => ['prepareTurn', value, 'options', wrongTurn] as const,
    ),
    ['prepareTurn', { tools: [5] }, 'options', /^The options of a tool are 5\./],
    ['prepareTurn', { messages: [5] }, 'history', noMessage],
    ['prepareTurn', { model: 5 }, 'model', noModel],
    ['whenPrompted', 5, 'model', noModel],
    ['whenPrompted', Promise.resolve(1), 'options', noPromise],
    ...[5, null, undefined, {}, { role: 'user' }, [5], ['Hi']].map(
      (value) => ['prompts', value, 'history', noMessage] as const,
    ),
    ...[5, {}, of(5), Promise.resolve(5)].map(
      (value) => ['apiKey', value, 'options', /"apiKey" is .* string\.$/] as const,
    ),
    ...[5, 'x', []].map((value) => ['headers', value, 'options', /"headers" is .* object\.$/] as const),
    ...[1n, NaN, () => 1, new Map(), Promise.resolve(1), { a: 1n }].map(
      (value) => ['results', value, 'results', notJson] as const,
    ),
  ];
  const look = define({ execute: undefined });
  const calls = () => scriptedModel([[toolCall('look', {}, 'c1')], 'Hi']);
  const unnamed = () => scriptedModel([[{ type: 'toolCallFragment', index: 0, name: 'look', arguments: '{}' }], 'Hi']);
  const users: Readonly<Record<string, (value: unknown) => unknown>> = {
    route: (value) => askOpenai({ apiKey: 'k', route: () => value }),
    apiKey: (value) => askOpenai({ apiKey: () => value }),
    headers: (value) => askOpenai({ apiKey: 'k', headers: () => value }),
    newId: (value) => create({ model: unnamed(), tools: [look], newId: () => value }).run('Hi'),
    prepareTurn: (value) => create({ prepareTurn: () => value }).run('Hi'),
    prompts: (value) => run({ prompts: of(value) }),
    whenPrompted: (value) => run({ prompts: of('Hi'), whenPrompted: () => value }),
  };
  it.each(values.map(([user, value, subject, message]) => ({ user, value, subject, message })))(
    'requireOptions explains a wrong value of $user: $value',
    async ({ user, value, subject, message }) => {
      const agent = create({ model: calls(), tools: [look] });
      const { checkpoint } = await lastValueFrom(agent.run('Hi', { checkpoints: true }));
      const resume = () => agent.resumeRun(inJavaScript(checkpoint), inJavaScript({ results: { c1: value } }));
      const error = await errorOf(() => (users[user]?.(value) ?? resume()) as Observable<unknown>);
      expect(error).toMatchObject({
        code: 'configuration',
        subject,
        message: expect.stringMatching(message) as unknown,
      });
    },
  );

  it.each([undefined, null, {}, of(undefined), { tools: [], messages: [userMessage('Hi')] }])(
    'requireOptions accepts what prepareTurn may return: %j',
    async (value) => {
      expect(await lastValueFrom(create({ prepareTurn: () => value }).run('Hi'))).toMatchObject({ text: 'Hi' });
    },
  );

  it('requireOptions names a model without its key', async () => {
    const error = (await errorOf(() => askOpenai({ apiKey: ['sk-secret'] }))) as Error;
    expect(error.message).toBe(
      'the model of openai: "apiKey" is of the type array. Pass a value of the type string or function.',
    );
    expect(((await errorOf(() => askOpenai('sk-secret'))) as Error).message).not.toContain('sk-secret');
  });

  it('requireOptions ignores names that are nothing like an option, and undefined values', () => {
    const options = { id: 'r1', earlier: [], onlyHere: 1, stop: undefined, history: undefined, cancel: [] };
    expect(observe(run(options)).values).toMatchObject([{ text: 'Hi' }]);
    expect(() => create({ owner: 'Ann', log: true, temperature: undefined })).not.toThrow();
  });
});
