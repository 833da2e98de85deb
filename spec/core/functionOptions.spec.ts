import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { from, isObservable, of, take, throwError, toArray } from 'rxjs';
import { fetchAgUi, toAgUi } from '../../lib/agUi.js';
import * as root from '../../lib/index.js';
import * as page from '../../lib/chat/index.js';
import * as service from '../../lib/service/index.js';
import { toUiMessageStream } from '../../lib/service/uiChat/index.js';
import { storeSaved } from '../../lib/chat/smallerSaved.js';
import { retryRequest } from '../../lib/protocol/retryRequest.js';
import { mcpTools } from '../../lib/tools/mcp/index.js';
import type { McpClient } from '../../lib/tools/mcp/client.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { anyTool } from '../support/toolCalls.js';

const rivulet = { ...root, ...page, ...service };
const defect = new Error('the defect of a user');

type Use = (asynchronous: () => never) => unknown;

const tool = anyTool('look', () => 1);
const busy = () => throwError(() => Object.assign(new Error('busy'), { retryable: true }));
const failing = () => scriptedModel(busy);
const texts = () => scriptedModel(() => ['Hi ', 'there.']);
const ask = (model: root.Model) => model.stream({ messages: [root.userMessage('Hi')] });
const run = (options: object) => {
  const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('look')]));
  return root.createAgent({ model, tools: [tool], ...options }).stream('Hi');
};
const failed = throwError(() => new Error('The database is down.'));
const call = (used: root.Tool) => run({ tools: [used] });
const waiting = (options: object) =>
  run({ tools: [{ ...tool, needsApproval: true }] }).pipe(
    toAgUi({ threadId: 't', runId: 'r', tools: [], messages: [] }, options),
  );
const handle = async (options: object, parts: readonly object[] = [{ type: 'text', text: 'Hi' }]) => {
  const reported: unknown[] = [];
  const onError = (thrown: unknown) => void reported.push(thrown);
  const handler = rivulet.agentHandler(root.createAgent({ model: texts() }), { onError, ...options });
  const body = JSON.stringify({ input: [{ role: 'user', parts }] });
  const response = await handler(
    new Request('https://a.example/chat', { method: 'POST', body, headers: { 'x-run-id': crypto.randomUUID() } }),
  );
  return [await response.text(), ...reported];
};
const listing: McpClient = {
  transport: {} as never,
  getProtocolEra: () => 'legacy' as never,
  getServerCapabilities: () => ({}),
  listTools: () => Promise.resolve({ tools: [{ name: 'look', inputSchema: { type: 'object' } }] }) as never,
  setNotificationHandler: () => undefined,
  removeNotificationHandler: () => undefined,
} as never;
const sent = root.openai('m', { apiKey: 'k', fetch: () => Promise.resolve(new Response('{}')) });
const fragment: root.Chunk = { type: 'toolCallFragment', index: 0, name: 'look', arguments: '{}' };
const file = { type: 'file', mediaType: 'image/png', url: 'https://a.example/a.png' };
const text = of<root.Chunk>({ type: 'text', text: 'Hi' });

/** Whose value is used at once: by the interface and the name of the option. */
const refused: Readonly<Record<string, Use>> = {
  'AccumulateOptions.newId': (newId) =>
    from<root.Chunk[]>([fragment, { type: 'finish', reason: 'toolCalls' }]).pipe(root.accumulateToolCalls({ newId })),
  'AgentToolOptions.prompt': (prompt) =>
    call(
      root.agentTool(root.createAgent({ model: texts() }), {
        name: 'look',
        description: 'Looks.',
        prompt,
        parameters: { type: 'object' },
      } as never),
    ),
  'CacheToolOptions.key': (key) => call(root.cacheTool(tool, { key })),
  'CachePromptOptions.key': (key) => ask(root.cachePrompt(sent, { key })),
  'FallbackOptions.when': (when) => ask(root.fallback([failing(), texts()], { when })),
  'FetchAgUiOptions.headers': (headers) => fetchAgUi('https://a.example', {} as never, { headers }),
  'FileUrlOptions.allowFileUrl': (allowFileUrl) => handle({ browser: { allowFileUrl } }, [file]),
  'LimiterOptions.estimate': (estimate) =>
    ask(root.limitModel(texts(), root.createLimiter({ tokensPerMinute: 1, estimate }))),
  'McpToolsOptions.filter': (filter) => mcpTools(listing, { filter }),
  'McpToolsOptions.describe': (describeTool) => mcpTools(listing, { describe: describeTool }),
  'ModelOptions.route': (route) =>
    ask(root.openai('m', { apiKey: 'k', route, fetch: () => Promise.resolve(new Response('{}')) })),
  'OutcomeOptions.describeCall': (describeCall) => waiting({ describeCall }),
  'PromptOptions.whenPrompted': (whenPrompted) =>
    root.createAgent({ model: texts() }).stream('Hi', { whenPrompted, prompts: of('More.') }),
  'RetryModelOptions.delay': (delay) => ask(root.retryModel(failing(), { delay })),
  'RetryModelOptions.when': (when) => ask(root.retryModel(failing(), { when })),
  'RetryOptions.random': (random) => busy().pipe(retryRequest({ random })),
  'RetryToolOptions.when': (when) => call(root.retryTool(anyTool('look', busy), { when, delay: 0 })),
  'ServiceOptions.owner': (owner) => handle({ owner }),
  'SummarizeOptions.when': (when) => root.summarize({ model: texts(), when })([root.userMessage('Hi')]),
  'TurnOptions.newId': (newId) => run({ newId, model: scriptedModel(() => [fragment, fragment]) }),
  'UiMessageStreamOptions.messageMetadata': (messageMetadata) => text.pipe(toUiMessageStream({ messageMetadata })),
  'countTokens of keepRecent': (countTokens) =>
    Promise.resolve(root.keepRecent({ tokens: 1, countTokens })([root.userMessage('a'), root.userMessage('b')])),
  'countTokens of summarize': (countTokens) =>
    root.summarize({ model: texts(), when: 1, countTokens })([root.userMessage('Hi')]),
  'decided of holdBack': (decided) => text.pipe(root.holdBack(decided)),
  'isAllowed of guardModel': (isAllowed) => ask(root.guardModel(texts(), isAllowed)),
  'stopWhen of an agent': (stopWhen) => run({ stopWhen }),
  'stopWhen in allOf': (stopWhen) => run({ stopWhen: root.allOf(stopWhen) }),
  'stopWhen with holds': (holds) => run({ stopWhen: { name: 'mine', holds } }),
  'validate of a schema': (validate) => call({ ...tool, parameters: { type: 'object', validate } }),
};

/** Whose value nobody reads, or replaces a sentence: the default is used, and the run goes on. */
const reported: Readonly<Record<string, Use>> = {
  'McpToolsOptions.onSkip': (onSkip) => {
    let deep: object = { type: 'object' };
    for (let level = 0; level < 300; level++) deep = { type: 'object', properties: { a: deep } };
    const listTools = () => Promise.resolve({ tools: [{ name: 'look', inputSchema: deep }] }) as never;
    return mcpTools({ ...listing, listTools }, { onSkip }).pipe(take(1));
  },
  'ServerSentEventsOptions.describeError': (describeError) =>
    failed.pipe(rivulet.toServerSentEvents({ describeError }), toArray()),
  'ServerSentEventsOptions.onError': (onError) => failed.pipe(rivulet.toServerSentEvents({ onError }), toArray()),
  'UiMessageStreamOptions.errorText': (errorText) => failed.pipe(toUiMessageStream({ errorText }), toArray()),
  'UiMessageStreamOptions.onError': (onError) => failed.pipe(toUiMessageStream({ onError }), toArray()),
  'onError of persist': (onError) => {
    const setItem = () => {
      throw new Error('No room.');
    };
    storeSaved({ setItem }, 'chat', { exchanges: [] } as never, onError);
  },
};

/** They may be asynchronous, their errors are reported (`reportUnhandled.spec.ts`), or they are not the user's. */
const others =
  /^(KeepChatsOptions\.title|PageRequestOptions\.headers|RetryToolOptions\.delay|ToolSearchOptions\.execute|\w+Observer\.\w+|ObserveOptions\.\w+|TurnOptions\.onToolError|ExecuteToolsOptions\.(onToolError|onUsage)|CustomToolOptions\.execute|ClientToolOptions\.execute|ComputerOptions\.execute|FromServerSentEventsOptions\.\w+|ShareRunOptions\.stop|Inject\w+\.\w+|ProvideAgentOptions\.user|ToolContractOptions\.\w+|ProviderContractOptions\.\w+|ServeOptions\.\w+|DurableWorkerOptions\.connect|(RunOptions\.wrapTurn|EndRunOptions|EndTurnOptions|DecodeOptions|FramingOptions|ModelSettings|ChatSettings|CallSettings|InputOptions|ConnectionOptions|GuardOptions|ExecutorOptions|ApprovalOptions|AccumulateOptions\.usedIds)\b.*)$/;

/** The names of the options in `lib` that are functions: `Interface.option`. */
function functionOptions(): readonly string[] {
  const files = readdirSync('lib', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return files.flatMap((file) => {
    const source = readFileSync(`lib/${file}`, 'utf8');
    return [...source.matchAll(/interface (\w*(?:Options|Settings|Observer))\b[^{}]*\{(.*?)\n\}/gs)].flatMap(
      ([, owner, fields = '']) =>
        [...fields.matchAll(/^ {2}readonly (\w+)\??:\s[^;]*?=>/gms)].map(([, name]) => `${owner}.${name}`),
    );
  });
}

const textOf = (value: unknown): string =>
  value instanceof Error ? `${value.message} ${textOf(value.cause)}` : JSON.stringify(value);

async function outcome(use: Use): Promise<string> {
  const asynchronous = (() => Promise.reject(defect)) as () => never;
  const seen: unknown[] = [];
  try {
    const used: unknown = await use(asynchronous);
    if (isObservable(used)) await used.pipe(take(50)).forEach((value) => void seen.push(value));
    else seen.push(...[used].flat());
  } catch (thrown) {
    seen.push(thrown);
  }
  return seen.map(textOf).join('\n');
}

describe('requireSync', () => {
  const { error: print } = console;
  let printed: unknown[];
  beforeEach(() => {
    printed = [];
    console.error = (thrown: unknown) => printed.push(thrown);
  });
  afterEach(() => {
    console.error = print;
  });

  it.each(Object.entries(refused))(
    'requireSync refuses a Promise of %s, whose rejection is printed',
    async (name, use) => {
      const option = name.replace(/^\w+\.|\s.*/g, '');
      expect(await outcome(use)).toMatch(
        new RegExp(`${option}(: \\w+)? returned a Promise\\. Return the value itself`),
      );
      expect(printed).toContain(defect);
    },
  );

  it.each(Object.entries(reported))('requireSync: a Promise of %s is printed, and the run goes on', async (_, use) => {
    expect(await outcome(use)).not.toContain(defect.message);
    expect(printed).toContain(defect);
  });

  it('toJson names the place of a Promise, and reports all that reject', async () => {
    const value = { rows: [{ a: 1 }, { b: Promise.reject(defect) }], n: 1n, c: Promise.reject(defect) };
    expect(await outcome(() => call(anyTool('look', () => value)))).toContain(
      'JSON cannot represent an object of class Promise at \\"rows.1.b\\". Await it first.',
    );
    expect(printed).toEqual([defect, defect]);
  });

  it('toJson names the place of a value in rows whose `toJSON` hides a cycle', async () => {
    const order = { total: NaN, toJSON: () => ({ id: 1, customer: { name: 'Ann', totals: [1, order.total] } }) };
    const rows = [{ id: 0, a: { b: 1 } }, Object.assign(order, { self: order, shared: {} })];
    expect(await outcome(() => call(anyTool('look', () => ({ rows }))))).toContain(
      'JSON cannot represent NaN at \\"rows.1.customer.totals.1\\". Return plain data.',
    );
  });

  it('requireSync lists all options that are functions', () => {
    const known = new Set([...Object.keys(refused), ...Object.keys(reported)]);
    expect(functionOptions().filter((name) => !known.has(name) && !others.test(name))).toEqual([]);
  });
});
