import { expect, it } from '@jest/globals';
import * as rivulet from '../../lib/index.js';
import * as kit from '../../lib/providers/kit.js';

it('rivulet/provider exports these names', () => {
  expect(Object.keys(kit).sort()).toEqual([
    'ConnectionError',
    'HttpError',
    'ProtocolError',
    'ProviderError',
    'StreamInterruptedError',
    'asArray',
    'baseMediaType',
    'commonFinishReason',
    'contextLengthPatterns',
    'createCallFragments',
    'createChunkEmitter',
    'dataUrl',
    'encodeSystem',
    'encodeText',
    'encodeUserContent',
    'extractTextCalls',
    'finiteNumber',
    'functionCall',
    'functionTool',
    'httpModel',
    'inlineDataUrl',
    'isJsonObject',
    'joinResponse',
    'lookUpEffort',
    'memoizePerMessage',
    'mistralCallId',
    'ndjson',
    'nonEmptyString',
    'objectOrEmpty',
    'omitUndefined',
    'providerError',
    'resultText',
    'serverToolChunk',
    'sse',
    'textOfFile',
    'toolResultContent',
    'unknownChunk',
    'unsupportedBudgetError',
    'unsupportedResultFileError',
    'usageOf',
    'withMessageOptions',
    'withProviderOptions',
  ]);
});

it('rivulet/provider and rivulet share what both export', () => {
  for (const [name, value] of Object.entries(kit)) {
    const other = (rivulet as Readonly<Record<string, unknown>>)[name];
    if (other !== undefined) expect([name, Object.is(other, value)]).toEqual([name, true]);
  }
});
