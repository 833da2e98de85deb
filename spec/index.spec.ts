import { describe, expect, it } from '@jest/globals';
import * as rivulet from 'rivulet';
import * as mcp from 'rivulet/mcp';
import * as aiSdk from 'rivulet/ai-sdk';
import * as registry from 'rivulet/registry';
import * as testing from 'rivulet/testing';
import * as server from 'rivulet/testing/server';

// A name that appears here is a promise to users; one that goes is a breaking change.
describe('the public names', () => {
  it('of rivulet', () => {
    expect(Object.keys(rivulet).sort()).toEqual([
      'ConfigurationError',
      'ConnectionError',
      'ElementError',
      'HttpError',
      'OutputError',
      'ProtocolError',
      'ProviderError',
      'RivuletError',
      'StreamInterruptedError',
      'TimeoutError',
      'accumulateToolCalls',
      'addUsage',
      'anthropic',
      'anthropicTools',
      'asKnownEvent',
      'cohere',
      'consolidate',
      'createAgent',
      'createOperator',
      'endRun',
      'endTurn',
      'executeTools',
      'filePart',
      'followUp',
      'google',
      'googleTools',
      'hasToolResults',
      'httpModel',
      'isFile',
      'isFinish',
      'isMessage',
      'isMetadata',
      'isModelMessage',
      'isProviderData',
      'isResult',
      'isResultsMessage',
      'isRetract',
      'isSource',
      'isText',
      'isThinking',
      'isToolCall',
      'isToolCallFragment',
      'isToolProgress',
      'isToolResult',
      'isToolStart',
      'isTurn',
      'localShellOutput',
      'mcpApproval',
      'messageText',
      'mistral',
      'modelMessage',
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
      'repairHistory',
      'requireCapabilities',
      'responsesTools',
      'runTurns',
      'selectOrchestrator',
      'startState',
      'systemMessage',
      'together',
      'tool',
      'toolCallIds',
      'toolCallsOf',
      'toolDefinition',
      'toolLoop',
      'twoPhase',
      'typedOutput',
      'userMessage',
    ]);
  });
  it('of rivulet/registry', () => {
    expect(Object.keys(registry).sort()).toEqual([
      'createRegistry',
      'modelByName',
      'registerProvider',
      'registeredProviders',
    ]);
  });
  it('of rivulet/mcp', () => {
    expect(Object.keys(mcp).sort()).toEqual(['McpToolError', 'mcpTools']);
  });
  it('of rivulet/ai-sdk', () => {
    expect(Object.keys(aiSdk).sort()).toEqual(['fromAiSdk']);
  });
  it('of rivulet/testing', () => {
    expect(Object.keys(testing).sort()).toEqual([
      'operatorContract',
      'parseDiagram',
      'recordFetch',
      'runDiagram',
      'scriptedModel',
      'toolCall',
    ]);
  });
  it('of rivulet/testing/server', () => {
    expect(Object.keys(server).sort()).toEqual(['serveFrames', 'serveModel', 'serveRecording']);
  });
});
