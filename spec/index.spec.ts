import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import * as rivulet from 'rivulet';
import * as aiSdkUi from 'rivulet/ai-sdk-ui';
import * as mcp from 'rivulet/mcp';
import * as agUi from 'rivulet/ag-ui';
import * as opentelemetry from 'rivulet/opentelemetry';
import * as aiSdk from 'rivulet/ai-sdk';
import * as registry from 'rivulet/registry';
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
      'StreamInterruptedError',
      'TextTooLongError',
      'TimeoutError',
      'accumulateToolCalls',
      'addUsage',
      'agentHandler',
      'agentTool',
      'allOf',
      'anthropic',
      'anthropicTools',
      'asKnownEvent',
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
      'fallback',
      'filePart',
      'followUp',
      'fromServerSentEvents',
      'google',
      'googleTools',
      'guard',
      'hasToolResults',
      'hedge',
      'holdBack',
      'httpModel',
      'isCheckpoint',
      'isFile',
      'isFinish',
      'isMessage',
      'isMetadata',
      'isModelMessage',
      'isOpenCalls',
      'isProviderData',
      'isResult',
      'isResultsMessage',
      'isRetract',
      'isRetry',
      'isSource',
      'isText',
      'isThinking',
      'isToolCall',
      'isToolCallFragment',
      'isToolProgress',
      'isToolResult',
      'isToolStart',
      'isToolUsage',
      'isToolWaiting',
      'isTurn',
      'joinRun',
      'keepRecent',
      'limit',
      'limitRepeatedCalls',
      'limitTool',
      'mcpApproval',
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
      'partialArguments',
      'partialOutput',
      'prefixAfterTools',
      'progress',
      'race',
      'remoteAgent',
      'repairHistory',
      'repeatedCalls',
      'requestOf',
      'requireCapabilities',
      'responsesTools',
      'retryTool',
      'retryTurn',
      'runOf',
      'runResponse',
      'runTurns',
      'selectOrchestrator',
      'sendRun',
      'shareRun',
      'smooth',
      'startState',
      'stopOn',
      'summarize',
      'systemMessage',
      'text',
      'toServerSentEvents',
      'toView',
      'together',
      'tokenBudget',
      'tool',
      'toolCallIds',
      'toolCalled',
      'toolCallsOf',
      'toolDefinition',
      'toolLoop',
      'turnCount',
      'twoPhase',
      'typedOutput',
      'unwrapOutput',
      'userMessage',
      'viewOf',
      'withOperators',
      'wrapTool',
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
    const names = ['fromUiMessages', 'sendUiMessage', 'toUiMessageStream', 'uiChatHandler', 'uiMessageResponse'];
    expect(Object.keys(aiSdkUi).sort()).toEqual(names);
  });

  it('rivulet/mcp exports these names', () => {
    expect(Object.keys(mcp).sort()).toEqual(['McpToolError', 'mcpTools']);
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
      'sendAgUi',
      'toAgUi',
      'toAgUiMessages',
    ]);
  });
  it('rivulet/opentelemetry exports these names', () => {
    expect(Object.keys(opentelemetry).sort()).toEqual(['traceAgent', 'traceModel']);
  });
  it('rivulet/ai-sdk exports these names', () => {
    expect(Object.keys(aiSdk).sort()).toEqual(['fromAiSdk']);
  });
  it('rivulet/testing exports these names', () => {
    expect(Object.keys(testing).sort()).toEqual([
      'operatorContract',
      'parseDiagram',
      'providerContract',
      'recordFetch',
      'runDiagram',
      'scriptedModel',
      'toolCall',
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

describe('package.json', () => {
  it('package.json publishes in public, with provenance, and includes SECURITY.md', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      files: expect.arrayContaining(['SECURITY.md', 'CHANGELOG.md']),
      publishConfig: { access: 'public', provenance: true },
    });
  });
});
