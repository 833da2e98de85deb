import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { version } from '../lib/observe/opentelemetry/version.js';
import * as rivulet from 'rivulet';
import * as anthropic from 'rivulet/anthropic';
import * as google from 'rivulet/google';
import * as openai from 'rivulet/openai';
import * as aiSdkUi from 'rivulet/ai-sdk-ui';
import * as mcp from 'rivulet/mcp';
import * as agUi from 'rivulet/ag-ui';
import * as angular from 'rivulet/angular';
import * as opentelemetry from 'rivulet/opentelemetry';
import * as aiSdk from 'rivulet/ai-sdk';
import * as registry from 'rivulet/registry';
import * as postgres from 'rivulet/postgres';
import * as dbos from 'rivulet/dbos';
import * as redis from 'rivulet/redis';
import * as chats from 'rivulet/chats';
import * as recording from 'rivulet/recording';
import * as testing from 'rivulet/testing';
import * as server from 'rivulet/testing/server';

// Users depend on these names: removing one is a breaking change.
describe('the public names', () => {
  it('rivulet exports these names', () => {
    expect(Object.keys(rivulet).sort()).toEqual([
      'AllModelsFailedError',
      'ConfigurationError',
      'ConnectionError',
      'ContextLengthError',
      'ElementError',
      'GuardError',
      'HttpError',
      'OutputError',
      'ProtocolError',
      'ProviderError',
      'RUN_ID_HEADER',
      'RateLimitError',
      'RemoteRunError',
      'RivuletError',
      'RunAbandonedError',
      'RunNotFoundError',
      'RunTakenError',
      'StreamInterruptedError',
      'TextTooLongError',
      'TimeoutError',
      'accumulateToolCalls',
      'addUsage',
      'agentHandler',
      'agentTool',
      'allOf',
      'anthropic',
      'asKnownEvent',
      'cachePrompt',
      'cacheTool',
      'cohere',
      'consolidate',
      'conversation',
      'costBudget',
      'costOf',
      'createAgent',
      'createLimiter',
      'createOperator',
      'createRuns',
      'deadlineTool',
      'elapsed',
      'emptyView',
      'endRun',
      'endTurn',
      'estimateTokens',
      'executeTools',
      'failedRunOf',
      'fallback',
      'filePart',
      'followUp',
      'fromServerSentEvents',
      'google',
      'guardModel',
      'hasToolResults',
      'hedge',
      'holdBack',
      'joinRun',
      'keepRecent',
      'limitModel',
      'limitRepeatsTool',
      'limitTool',
      'memoryLog',
      'memoryStore',
      'messageText',
      'mistral',
      'modelMessage',
      'nodeListener',
      'observeRun',
      'ofType',
      'ollama',
      'openai',
      'openaiCompatible',
      'openaiResponses',
      'openrouter',
      'outputElements',
      'pageTools',
      'partialArguments',
      'partialOutput',
      'persist',
      'pipeModel',
      'prefixAfterTools',
      'priceModel',
      'progress',
      'remoteAgent',
      'repairHistory',
      'repeatedCalls',
      'requestOf',
      'requireCapabilities',
      'retryModel',
      'retryTool',
      'runResponse',
      'runTurns',
      'selectOrchestrator',
      'shareRun',
      'smooth',
      'startState',
      'stopOn',
      'summarize',
      'systemMessage',
      'textFilter',
      'toServerSentEvents',
      'toText',
      'toView',
      'together',
      'tokenBudget',
      'tool',
      'toolCallIds',
      'toolCalled',
      'toolCallsOf',
      'toolCatalogue',
      'toolDefinition',
      'toolLoop',
      'turnCount',
      'twoPhase',
      'typed',
      'typedOutput',
      'unwrapOutput',
      'userMessage',
      'viewOf',
      'wrapTool',
    ]);
  });
  it('rivulet exports at most 300 values and types', () => {
    const index = ts.createSourceFile('index.ts', readFileSync('lib/index.ts', 'utf8'), ts.ScriptTarget.Latest);
    const names = index.statements.flatMap((statement) =>
      ts.isExportDeclaration(statement) && statement.exportClause && ts.isNamedExports(statement.exportClause)
        ? statement.exportClause.elements.map(({ name }) => name.text)
        : [`not a list of names: ${statement.getText(index)}`],
    );
    expect(names.filter((name) => name.startsWith('not'))).toEqual([]);
    expect(names).toEqual([...new Set(names)]);
    expect(names.length).toBeLessThanOrEqual(300);
    expect(Object.keys(rivulet).filter((name) => !names.includes(name))).toEqual([]);
  });
  it('the entry points of vendors export their models and their tools', () => {
    expect(Object.keys(openai).sort()).toEqual([
      'mcpApproval',
      'openai',
      'openaiResponses',
      'responsesTools',
      'webSocketTransport',
    ]);
    expect(Object.keys(anthropic).sort()).toEqual(['anthropic', 'anthropicTools']);
    expect(Object.keys(google).sort()).toEqual(['google', 'googleInteractions', 'googleTools']);
    expect([openai.openai, openai.openaiResponses, anthropic.anthropic, google.google]).toEqual([
      rivulet.openai,
      rivulet.openaiResponses,
      rivulet.anthropic,
      rivulet.google,
    ]);
  });
  it('rivulet/registry exports these names', () => {
    expect(Object.keys(registry).sort()).toEqual([
      'createRegistry',
      'modelByName',
      'registerProvider',
      'registeredProviders',
    ]);
  });
  it('rivulet/ai-sdk-ui exports these names', () => {
    const names = ['fromUiMessages', 'toUiMessageStream', 'uiChatHandler', 'uiMessageResponse'];
    expect(Object.keys(aiSdkUi).sort()).toEqual(names);
  });

  it('rivulet/mcp exports these names', () => {
    expect(Object.keys(mcp).sort()).toEqual(['McpToolError', 'mcpSignIn', 'mcpTools']);
  });
  it('rivulet/ag-ui exports these names', () => {
    expect(Object.keys(agUi).sort()).toEqual([
      'AgUiRequestError',
      'agUiHandler',
      'agUiResponse',
      'clientTools',
      'fetchAgUi',
      'fromAgUi',
      'fromAgUiMessages',
      'historyOf',
      'readAgUiRequest',
      'runAgUi',
      'toAgUi',
      'toAgUiMessages',
    ]);
  });
  it('rivulet/angular exports these names', () => {
    const names = ['injectAgent', 'injectConversation', 'injectRun', 'provideAgent'];
    expect(Object.keys(angular).sort()).toEqual(names);
  });
  it('rivulet/opentelemetry exports these names', () => {
    expect(Object.keys(opentelemetry).sort()).toEqual(['traceAgent', 'traceModel']);
  });
  it('rivulet/ai-sdk exports these names', () => {
    expect(Object.keys(aiSdk).sort()).toEqual(['fromAiSdk']);
  });
  it('rivulet/postgres exports these names', () => {
    expect(Object.keys(postgres).sort()).toEqual([
      'migratePostgres',
      'pgNotifications',
      'pgliteNotifications',
      'postgresLog',
      'postgresMigrations',
      'postgresStore',
    ]);
  });
  it('rivulet/dbos exports these names', () => {
    expect(Object.keys(dbos).sort()).toEqual(['durableAgent', 'durableWorker']);
  });

  it('rivulet/redis exports these names', () => {
    expect(Object.keys(redis).sort()).toEqual(['redisLog', 'redisNotifications']);
  });

  it('rivulet/chats exports these names', () => {
    expect(Object.keys(chats).sort()).toEqual(['chatCopies', 'keepChats', 'remoteChats']);
  });

  it('rivulet/recording exports these names', () => {
    expect(Object.keys(recording).sort()).toEqual([
      'RECORDING_VERSION',
      'drawRun',
      'inspectRuns',
      'playCall',
      'readRecording',
      'record',
      'recordFetch',
      'recordRun',
      'recordedEvent',
      'replay',
      'replayEvents',
      'replayRun',
      'writeSpec',
    ]);
  });
  it('rivulet/testing exports these names', () => {
    expect(Object.keys(testing).sort()).toEqual([
      'drawInVirtualTime',
      'expectMarbles',
      'inVirtualTime',
      'logContract',
      'marbleMatchers',
      'operatorContract',
      'parseDiagram',
      'playMarbles',
      'providerContract',
      'recordFetch',
      'runAgent',
      'runDiagram',
      'scriptedModel',
      'storeContract',
      'toolCall',
      'toolContract',
    ]);
  });
  it('rivulet/testing/server exports these names', () => {
    expect(Object.keys(server).sort()).toEqual(['serveFrames', 'serveModel', 'serveRecording']);
  });
  it('rivulet exports the types of the timeout option', () => {
    const silence: rivulet.IdleTimeoutOptions = { first: 1_000, each: 2_000 };
    const timeout: rivulet.HttpTimeoutOptions = { ...silence, body: false };
    const options: rivulet.ModelOptions = { apiKey: 'key', timeout };
    expect(rivulet.openai('gpt-6.1-terra', options).provider).toBe('openai');
  });
});

describe('docs/errors.md', () => {
  it('docs/errors.md lists the code of every error', async () => {
    const files = await readdir('lib', { recursive: true });
    const texts = await Promise.all(
      files.filter((name) => name.endsWith('.ts')).map((name) => readFile(join('lib', name), 'utf8')),
    );
    const codes = texts.flatMap((text) => [...text.matchAll(/readonly code = '(\w+)'/g)].map(([, code]) => code));
    const guide = await readFile('docs/errors.md', 'utf8');
    expect(codes.length).toBeGreaterThan(12);
    expect(codes.filter((code) => !guide.includes(`| \`${code}\` |`))).toEqual([]);
  });
});

describe('package.json', () => {
  it('package.json names the repository, the page and the tracker of the project', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, unknown>;
    const project = 'https://github.com/rivulet-rx/rivulet';
    expect(manifest).toMatchObject({
      homepage: expect.stringContaining(project),
      bugs: expect.stringContaining(project),
      repository: { type: 'git', url: `git+${project}.git` },
    });
  });
  it('package.json has the version that the spans of rivulet/opentelemetry name', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, unknown>;
    expect(version).toBe(manifest['version']);
  });
  it('package.json publishes in public, with provenance, and includes SECURITY.md', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      files: expect.arrayContaining(['SECURITY.md', 'CHANGELOG.md']),
      publishConfig: { access: 'public', provenance: true },
    });
  });
});
