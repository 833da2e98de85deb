import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { noop, EMPTY, isObservable, lastValueFrom, NEVER, of, throwError } from 'rxjs';
import { uiChatHandler, uiMessageResponse } from '../../lib/service/uiChat/index.js';
import { isRecord } from '../../lib/core/json/json.js';
import * as root from '../../lib/index.js';
import { agUiHandler } from '../../lib/agUi.js';
import { idleTimeout } from '../../lib/protocol/idleTimeout.js';
import { retryRequest } from '../../lib/protocol/retryRequest.js';
import { anthropicTools } from '../../lib/providers/anthropic/index.js';
import { responsesTools, webSocketTransport } from '../../lib/providers/openaiResponses/index.js';
import { readRecording, recordFetch, recordRun, replayEvents, writeSpec } from '../../lib/observe/recording/index.js';
import { durableWorker } from '../../lib/service/stores/dbos/index.js';
import { postgresLog, postgresStore } from '../../lib/service/stores/postgres/index.js';
import { redisLog } from '../../lib/service/stores/redis/index.js';
import { scriptedModel, toolContract } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import { injectChats, injectWaiting } from '../../lib/chat/angular/index.js';
import * as page from '../../lib/chat/index.js';
import * as service from '../../lib/service/index.js';
import { anyTool } from '../support/toolCalls.js';

const rivulet = { ...root, ...page, ...service };
const { createAgent, agentHandler, createLimiter, limitModel, openai, priceModel, userMessage } = rivulet;

type Use = (value: number) => unknown;

const call = anyTool('look', () => 1);
const none = {} as never;
const ask = (model: root.Model, more: object = {}) => model.stream({ messages: [userMessage('Hi')], ...more });
const run = (options: object) => createAgent({ model: scriptedModel(['Hi']), tools: [call], ...options }).stream('Hi');
const agent = createAgent({ model: scriptedModel(() => 'Hi') });
const http = (options: object, more?: object) =>
  ask(
    openai('m', { apiKey: 'k', fetch: () => Promise.resolve(new Response('{}', { status: 400 })), ...options }),
    more,
  );
const handler = (options: object) => agentHandler(agent, options);
const asking = (within: number): root.Tool =>
  rivulet.askTool({
    name: 'ask',
    description: 'Asks.',
    execute: (_, { ask: question }) => question({ message: 'Hi?', schema: { type: 'object' }, within }),
  });
const failed = throwError(() => Object.assign(new Error('busy'), { retryable: true }));
const failing = scriptedModel(() => failed);
const serve = async (options: object) => (await serveModel(['Hi'], options)).close();
const worker = (options: object) => durableWorker(agent, options as never);
const prices = (more: object) => priceModel(scriptedModel(['Hi']), { input: 1, output: 1, ...more });

async function record(): Promise<string> {
  const lines: string[] = [];
  await lastValueFrom(recordRun(agent, (line) => lines.push(line)).stream('Hi'));
  return lines.join('\n');
}

/** By the interface and the name of the option. */
const options: Readonly<Record<string, Use>> = {
  'AgentOptions.maxTurns': (maxTurns) => run({ maxTurns }),
  'AgentOptions.timeout.turn': (turn) => run({ timeout: { turn } }),
  'AgentOptions.timeout.run': (limit) => run({ timeout: { run: limit } }),
  'AskOptions.within': (within) =>
    asking(within).execute?.({}, {
      outer: {
        call: { id: 'c', name: 'ask' },
        answers: EMPTY,
        controls: new Set(),
        control: noop,
      },
    } as never),
  'Behaviour.delay': (delay) => serve({ delay }),
  'Behaviour.cut': (cut) => serve({ cut }),
  'Behaviour.reset': (reset) => serve({ reset }),
  'Behaviour.silent': (silent) => serve({ silent }),
  'Behaviour.endEarly': (endEarly) => serve({ endEarly }),
  'Behaviour.status': (status) => serve({ status }),
  'CacheToolOptions.size': (size) => rivulet.cacheTool(call, { size }),
  'CacheToolOptions.ttl': (ttl) => rivulet.cacheTool(call, { ttl }),
  'DurableWorkerOptions.concurrency': (concurrency) => worker({ concurrency }),
  'DurableWorkerOptions.retention': (retention) => worker({ retention }),
  'DurableWorkerOptions.recoveryInterval': (recoveryInterval) => worker({ recoveryInterval }),
  'DurableWorkerOptions.pollInterval': (pollInterval) => worker({ pollInterval }),
  'DurableWorkerOptions.keep': (keep) => worker({ keep }),
  'ExecuteToolsOptions.concurrency': (concurrency) => of().pipe(rivulet.executeTools([call], { concurrency })),
  'ExecuteToolsOptions.patience': (patience) => of().pipe(rivulet.executeTools([call], { patience })),
  'ExecuteToolsOptions.deadline': (deadline) => of().pipe(rivulet.executeTools([call], { deadline })),
  'FallbackOptions.cooldown': (cooldown) => ask(rivulet.fallback([failing, failing], { cooldown })),
  'FileSearchOptions.maxResults': (maxResults) => responsesTools.fileSearch({ vectorStoreIds: [], maxResults }),
  'FileSearchOptions.scoreThreshold': (scoreThreshold) =>
    responsesTools.fileSearch({ vectorStoreIds: [], scoreThreshold }),
  'FirstFailures.status': (status) => serve({ failFirst: { status } }),
  'FirstFailures.times': (times) => serve({ failFirst: { status: 500, times } }),
  'PageRequestOptions.retries': (retries) => rivulet.fromServerSentEvents('http://x', {}, { retries }),
  'PageRequestOptions.retryDelay': (retryDelay) => rivulet.fromServerSentEvents('http://x', {}, { retryDelay }),
  'GuardModelOptions.window': (window) => ask(rivulet.guardModel(failing, () => true, { window })),
  'HedgeOptions.after': (after) => ask(rivulet.hedge([failing, failing], { after })),
  'HoldBackOptions.limit': (limit) =>
    of<root.Chunk>({ type: 'text', text: 'Hi' }).pipe(rivulet.holdBack((text) => text.length, { limit })),
  'HttpTimeoutOptions.connect': (connect) => http({ timeout: { connect } }),
  'HttpTimeoutOptions.body': (body) => http({ timeout: { body } }),
  'HttpTimeoutOptions.turn': (turn) => http({ timeout: { turn } }),
  'IdleTimeoutOptions.first': (first) => of(1).pipe(idleTimeout({ first })),
  'IdleTimeoutOptions.each': (each) => of(1).pipe(idleTimeout({ each })),
  'ImageGenerationOptions.compression': (compression) => responsesTools.imageGeneration({ compression }),
  'ImageGenerationOptions.partialImages': (partialImages) => responsesTools.imageGeneration({ partialImages }),
  'KeepChatsOptions.maxBytes': (maxBytes) => rivulet.keepChats(rivulet.memoryStore(), { maxBytes }),
  'KeepChatsOptions.maxChats': (maxChats) => rivulet.keepChats(rivulet.memoryStore(), { maxChats }),
  'KeepRecentOptions.tokens': (tokens) => rivulet.keepRecent({ tokens }),
  'KeepRecentOptions.messages': (messages) => rivulet.keepRecent({ messages }),
  'LimitRepeatsToolOptions.max': (max) => rivulet.limitRepeatsTool(call, { max }),
  'LimitToolOptions.concurrency': (concurrency) => rivulet.limitTool(call, { concurrency }),
  'LimiterOptions.requestsPerMinute': (requestsPerMinute) => createLimiter({ requestsPerMinute }),
  'LimiterOptions.tokensPerMinute': (tokensPerMinute) => createLimiter({ tokensPerMinute }),
  'LimiterOptions.concurrency': (concurrency) => createLimiter({ concurrency }),
  'LimiterOptions.estimate': (count) =>
    ask(limitModel(scriptedModel(['Hi']), createLimiter({ tokensPerMinute: 1, estimate: () => count }))),
  'MemoryOptions.maxBytes': (maxBytes) => rivulet.memoryStore({ maxBytes }),
  'MemoryOptions.maxAge': (maxAge) => rivulet.memoryLog({ maxAge }),
  'ModelOptions.maxEventLength': (maxEventLength) => http({ maxEventLength }),
  'OwnerLimitOptions.maxRunsPerOwner': (maxRunsPerOwner) => handler({ limits: { maxRunsPerOwner } }),
  'OwnerUsageOptions.maxPromptsPerMinute': (maxPromptsPerMinute) => handler({ limits: { maxPromptsPerMinute } }),
  'OwnerLimitOptions.maxWaitingPrompts': (maxWaitingPrompts) => handler({ limits: { maxWaitingPrompts } }),
  'OwnerLimitOptions.maxWaitingBytes': (maxWaitingBytes) => handler({ limits: { maxWaitingBytes } }),
  'OwnerLimitOptions.maxOwnerBytes': (maxOwnerBytes) => handler({ limits: { maxOwnerBytes } }),
  'OwnerBudget.tokens': (tokens) => handler({ limits: { budget: { tokens } } }),
  'OwnerBudget.cost': (cost) => handler({ limits: { budget: { cost } } }),
  'OwnerBudget.window': (window) => handler({ limits: { budget: { tokens: 1, window } } }),
  'PostgresLogOptions.pollInterval': (pollInterval) => postgresLog(none, { pollInterval }),
  'PostgresLogOptions.writeInterval': (writeInterval) => postgresLog(none, { writeInterval }),
  'PostgresOptions.maxAge': (maxAge) => postgresStore(none, { maxAge }),
  'PostgresOptions.retryTime': (retryTime) => postgresStore(none, { retryTime }),
  'Prices.input': (input) => prices({ input }),
  'Prices.output': (output) => prices({ output }),
  'Prices.cachedInput': (cachedInput) => priceModel(failing, { m: { input: 1, output: 1, cachedInput } }),
  'Prices.cacheWriteInput': (cacheWriteInput) => prices({ cacheWriteInput }),
  'Prices.longCacheWriteInput': (longCacheWriteInput) => prices({ longCacheWriteInput }),
  'RecordOptions.maxLength': (maxLength) => recordFetch({ sink: () => 0, maxLength }),
  'RecordingOptions.maxLength': (maxLength) => recordRun(agent, () => 0, { maxLength }).stream('Hi'),
  'RecordingOptions.maxLineLength': (maxLineLength) => recordRun(agent, () => 0, { maxLineLength }).stream('Hi'),
  'RedisLogOptions.pollInterval': (pollInterval) => redisLog(none, { pollInterval }),
  'RedisLogOptions.writeInterval': (writeInterval) => redisLog(none, { writeInterval }),
  'RedisLogOptions.maxAge': (maxAge) => redisLog(none, { maxAge }),
  'RedisLogOptions.retryTime': (retryTime) => redisLog(none, { retryTime }),
  'RemoteChatsOptions.retries': (retries) => rivulet.remoteChats('http://x', { retries }),
  'RemoteChatsOptions.retryDelay': (retryDelay) => rivulet.remoteChats('http://x', { retryDelay }),
  'InjectChatsOptions.refresh': (refresh) => injectChats({ chats: none, refresh }),
  'InjectWaitingOptions.refresh': (refresh) => injectWaiting({ agent: none, refresh }),
  'RemoteAgentOptions.maxBodyBytes': (maxBodyBytes) => rivulet.remoteAgent('http://x', { maxBodyBytes }),
  'RemoteAgentOptions.retries': (retries) => rivulet.remoteAgent('http://x', { retries }),
  'ReplayOptions.run': async (one) => replayEvents(readRecording(await record()), { run: one }),
  'ReplayOptions.speed': async (speed) => replayEvents(readRecording(await record()), { speed }),
  'RequestSettings.temperature': (temperature) => http({}, { temperature }),
  'RequestSettings.topP': (topP) => run({ topP }),
  'RequestSettings.maxOutputTokens': (maxOutputTokens) => http({}, { maxOutputTokens }),
  'RequestSettings.seed': (seed) => run({ seed }),
  'RequestSettings.thinking.budget': (budget) => run({ thinking: { budget } }),
  'RetryModelOptions.count': (count) => ask(rivulet.retryModel(failing, { count })),
  'RetryModelOptions.delay': (delay) => ask(rivulet.retryModel(failing, { delay })),
  'RetryOptions.count': (count) => failed.pipe(retryRequest({ count })),
  'RetryOptions.initialDelay': (initialDelay) => failed.pipe(retryRequest({ initialDelay })),
  'RetryOptions.maxDelay': (maxDelay) => failed.pipe(retryRequest({ maxDelay })),
  'RetryOptions.jitter': (jitter) => http({ retry: { jitter } }),
  'RetryToolOptions.count': (count) => rivulet.retryTool(call, { count }),
  'RetryToolOptions.delay': (delay) => rivulet.retryTool(call, { delay }),
  'RunOptions.patience': (patience) => agent.stream('Hi', { patience }),
  'RunTurnsOptions.maxTurns': (maxTurns) => run({ maxTurns }),
  'RunTimes.grace': (grace) => rivulet.createRuns({ grace }),
  'RunTimes.keep': (keep) => rivulet.createRuns({ keep }),
  'ScriptedModelOptions.keep': (keep) => scriptedModel(['Hi'], { keep }),
  'ServeOptions.port': (port) => serve({ port }),
  'ServerSentEventsOptions.heartbeat': (heartbeat) => NEVER.pipe(rivulet.toServerSentEvents({ heartbeat })),
  'LimitOptions.maxBodyBytes': (maxBodyBytes) => handler({ limits: { maxBodyBytes } }),
  'LimitOptions.maxHistoryBytes': (maxHistoryBytes) => handler({ limits: { maxHistoryBytes } }),
  'ServiceOptions.lease': (lease) => handler({ lease }),
  'ServiceOptions.patience': (patience) => handler({ patience }),
  'ShareRunOptions.grace': (grace) => rivulet.shareRun(NEVER, { grace }),
  'SmoothOptions.maxDelay': (maxDelay) => rivulet.smooth({ maxDelay }),
  'SmoothOptions.interval': (interval) => rivulet.smooth({ interval }),
  'SummarizeOptions.when': (when) => rivulet.summarize({ model: failing, when }),
  'SummarizeOptions.maxOutputTokens': (maxOutputTokens) =>
    rivulet.summarize({ model: failing, when: 1, maxOutputTokens }),
  'ToolCatalogueOptions.count': (count) => rivulet.toolCatalogue([call], { count }),
  'ToolContractOptions.within': (within) => toolContract(() => call, { arguments: {}, within }),
  'TurnOptions.toolConcurrency': (toolConcurrency) => run({ toolConcurrency }),
  'TurnOptions.toolDeadline': (toolDeadline) => run({ toolDeadline }),
  'TurnOptions.patience': (patience) => run({ patience }),
  'TurnOptions.maxRepairs': (maxRepairs) => run({ maxRepairs }),
  'UiChatProtocolOptions.grace': (grace) => uiChatHandler(agent, { grace }),
  'UiChatProtocolOptions.keep': (keep) => uiChatHandler(agent, { keep }),
  'UiMessageResponseOptions.heartbeat': (heartbeat) => uiMessageResponse(NEVER, { heartbeat }),
  'WebFetchOptions.maxContentTokens': (maxContentTokens) => anthropicTools.webFetch({ maxContentTokens }),
  'WebLimits.maxUses': (maxUses) => anthropicTools.webSearch({ maxUses }),
  'WebSocketTransportOptions.idle': (idle) => webSocketTransport(none, { idle }),
  'WebSocketTransportOptions.maxEventLength': (maxEventLength) => webSocketTransport(none, { maxEventLength }),
  'WriteSpecOptions.run': async (one) => writeSpec(readRecording(await record()), { run: one }),
  'heartbeat of agentHandler': (heartbeat) => agentHandler(agent, { heartbeat }),
  'heartbeat of uiChatHandler': (heartbeat) => uiChatHandler(agent, { heartbeat }),
  'heartbeat of agUiHandler': (heartbeat) => agUiHandler(() => agent, { heartbeat }),
  'a deadline': (deadline) => rivulet.deadlineTool(call, deadline),
  'a cost': (max) => rivulet.costBudget({ max }),
  'a number of turns': (count) => rivulet.turnCount(count),
  'a number of tokens': (tokens) => rivulet.tokenBudget(tokens),
  'a time': (milliseconds) => rivulet.elapsed(milliseconds),
  'a number of repetitions': (turns) => rivulet.repeatedCalls(turns),
};

/** The provider judges these: only what JSON cannot contain is wrong. */
const isSent = (name: string) => /^(RequestSettings|Prices)\./.test(name);

/** A list of positions, and what would be the prices of a model that is called `input`. */
const accepted: Readonly<Record<string, string>> = {
  'Behaviour.cut': '[5]',
  'Prices.input': '{}',
  'Prices.output': '{}',
  'Prices.cacheWriteInput': '{}',
  'Prices.longCacheWriteInput': '{}',
};

/** Options that users cannot pass, those that go to another library, and a header. */
const internal =
  /^(FirstFailures\.retryAfter|AgentSettings|BodyOptions|CallSettings|ConnectionOptions|FramingOptions|GuardOptions|InspectServerOptions|InspectorLimits|RunLifeOptions|McpCallOptions|RoundSettings|NestedSettings|ApprovalOptions|ExecutorOptions)\b/;

/** The names of the numeric options in `lib`: `Interface.option`. */
function numericOptions(): readonly string[] {
  const files = readdirSync('lib', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return files.flatMap((file) => {
    const text = readFileSync(`lib/${file}`, 'utf8');
    const kind = 'Options|Behaviour|Failures|Limits|Budget|Settings|Prices';
    return [...text.matchAll(new RegExp(`interface (\\w*(?:${kind}))\\b[^{]*\\{(.*?)\\n\\}`, 'gs'))].flatMap(
      ([, owner, fields = '']) =>
        [
          ...fields.matchAll(/^ {2}readonly (\w+)\??:\s+(?:number\b|\{ readonly turn|\(\(request: ModelRequest\))/gm),
        ].map(([, name]) => `${owner}.${name}`),
    );
  });
}

const outcome = async (use: Use, value: unknown): Promise<unknown> => {
  try {
    const used: unknown = await use(value as number);
    return isObservable(used) ? await lastValueFrom(used, { defaultValue: undefined }) : used;
  } catch (thrown) {
    return thrown;
  }
};

describe('numeric options', () => {
  const values = [
    ['NaN', NaN],
    ['-1', -1],
    ['"3"', '3'],
    ['an empty text', ''],
    ['null', null],
    ['true', true],
    ['[5]', [5]],
    ['{}', {}],
    ['1n', 1n],
    ['-Infinity', -Infinity],
  ] as const;
  /** Without a default: undefined would be no limit at all. */
  const required: ReadonlySet<string> = new Set([
    'HedgeOptions.after',
    'LimitToolOptions.concurrency',
    'LimiterOptions.estimate',
    'SummarizeOptions.when',
    'a deadline',
    'a cost',
    'a number of turns',
    'a number of tokens',
    'a time',
    'a number of repetitions',
  ]);
  const rows = Object.keys(options).flatMap((name) =>
    [...values, ...(required.has(name) ? ([['undefined', undefined]] as const) : [])]
      .filter(([shown]) => !(shown.startsWith('-') && isSent(name)) && accepted[name] !== shown)
      .map(([shown, value]) => ({ name, shown, value, use: options[name] ?? none })),
  );
  it.each(rows)('requireNumber refuses $shown as $name', async ({ value, use }) => {
    const refused = await outcome(use, value);
    expect(isRecord(refused) ? refused['message'] : refused).toMatch(
      /is (NaN|-1|-Infinity|null|of the type \w+)\.|this is run /,
    );
    expect(refused).toMatchObject({ name: 'ConfigurationError' });
  });

  it('requireNumber checks all numeric options', () => {
    const covered = new Set(Object.keys(options).map((name) => name.split('.').slice(0, 2).join('.')));
    expect(numericOptions().filter((name) => !covered.has(name) && !internal.test(name))).toEqual([]);
  });
});

describe('nested options', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['timeout.turns', () => run({ timeout: { turns: 5 } }), /^createAgent: timeout: .*"turns"\. Did you mean "turn"/],
    ['timeout.headers', () => run({ timeout: { headers: 1 } }), /"headers"\. Its options are: turn, run\.$/],
    ['toolChoice.toolName', () => run({ toolChoice: { toolName: 'x' } }), /toolChoice: .*Its options are: name\.$/],
    ['thinking.budgetTokens', () => run({ thinking: { budgetTokens: 5 } }), /options are: effort, budget\.$/],
    ['timeout.idle of a model', () => http({ timeout: { idle: 5 } }), /options are: connect, first, body, each, turn/],
    ['retry.retries of a model', () => http({ retry: { retries: 5 } }), /retry: there is no option "retries"/],
    ['a number as retry', () => http({ retry: 5 }), /"retry" is 5\. Pass a value of the type boolean or object/],
    [
      'thinking of a request',
      () => http({}, { thinking: { budgetToken: 5 } }),
      /^A request of the model of openai: th/,
    ],
  ])('requireOptions refuses %s', async (_, use, message) => {
    const refused = await outcome(use, 0);
    expect(refused).toMatchObject({ name: 'ConfigurationError', message: expect.stringMatching(message) as unknown });
  });
});
