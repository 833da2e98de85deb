export { ConnectionError, HttpError, ProtocolError, ProviderError, StreamInterruptedError } from '../core/errors.js';
export {
  asArray,
  finiteNumber,
  isJsonObject,
  nonEmptyString,
  objectOrEmpty,
  omitUndefined,
} from '../core/json/json.js';
export { serverToolChunk } from '../core/metadata.js';
export type { ServerTool } from '../core/metadata.js';
export { usageOf } from '../core/usage.js';

export { memoizePerMessage } from '../protocol/encodeOnce.js';
export { contextLengthPatterns } from '../protocol/contextLengthPatterns.js';
export { providerError } from '../protocol/errorDetails.js';
export { joinResponse } from '../protocol/joinResponse.js';
export { ndjson } from '../protocol/ndjson.js';
export { sse } from '../protocol/sse.js';
export type { Decoder, Frame, Framing, Wire, WireRequest } from '../protocol/wire.js';

export { httpModel } from './httpModel.js';
export type { HttpModelDefinition, OpenModelOptions } from './httpModel.js';
export { createCallFragments } from './shared/callFragments.js';
export type { CallFragments } from './shared/callFragments.js';
export { mistralCallId } from './shared/callIds.js';
export { createChunkEmitter } from './shared/chunkEmitter.js';
export type { ChunkEmitter } from './shared/chunkEmitter.js';
export {
  encodeSystem,
  encodeText,
  encodeUserContent,
  functionCall,
  functionTool,
  resultText,
} from './shared/encode.js';
export { baseMediaType, dataUrl, inlineDataUrl, textOfFile } from './shared/files.js';
export { commonFinishReason } from './shared/finishReasons.js';
export { withMessageOptions, withProviderOptions } from './shared/providerOptions.js';
export { lookUpEffort, unsupportedBudgetError } from './shared/thinkingEffort.js';
export { extractTextCalls } from './shared/textCalls.js';
export { toolResultContent, unsupportedResultFileError } from './shared/toolResultContent.js';
export { unknownChunk } from './shared/unknownChunk.js';
