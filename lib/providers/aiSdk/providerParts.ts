import { tryParseJson, type JsonObject } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { serverToolChunk } from '../../core/metadata.js';
import type { SdkPart, SdkPartOf } from './openStream.js';
import { metadataField, type ReplayPart } from './providerData.js';

/** What a reader learns of a part that only its provider understands, and what goes back to the provider. */
interface ReportedPart {
  readonly metadata: JsonObject;
  readonly replayPart?: ReplayPart;
}

export function reportedPart(part: SdkPart): ReportedPart | undefined {
  switch (part.type) {
    case 'tool-call':
      if (!part.providerExecuted) return undefined;
      return { metadata: reportCall(part), replayPart: toReplayCall(part) };
    case 'tool-result':
      return { metadata: reportResult(part), ...(part.preliminary ? {} : { replayPart: toReplayResult(part) }) };
    case 'tool-approval-request':
      return { metadata: { toolApprovalRequest: toJson(part) } };
    case 'custom':
      return {
        metadata: { custom: toJson(part) },
        replayPart: { type: part.type, kind: part.kind, ...metadataField('providerOptions', part.providerMetadata) },
      };
    case 'reasoning-file': {
      const { type, mediaType, data, providerMetadata } = part;
      const replayPart = { type, mediaType, data, ...metadataField('providerOptions', providerMetadata) };
      return { metadata: { thoughtFile: toJson(part) }, replayPart };
    }
    default:
      return undefined;
  }
}

function reportCall(part: SdkPartOf<'tool-call'>): JsonObject {
  const { toolCallId: id, toolName: name, input } = part;
  const { metadata } = serverToolChunk({
    id,
    name,
    status: 'running',
    input: tryParseJson(input) ?? input,
    raw: toJson(part),
  });
  return metadata;
}

function reportResult(part: SdkPartOf<'tool-result'>): JsonObject {
  const { toolCallId: id, toolName: name, result, isError, preliminary } = part;
  const ended = isError ? 'failed' : 'completed';
  const status = preliminary ? 'running' : ended;
  return serverToolChunk({ id, name, status, output: toJson(result), raw: toJson(part) }).metadata;
}

function toReplayCall({ toolCallId, toolName, input, providerMetadata }: SdkPartOf<'tool-call'>): ReplayPart {
  return {
    type: 'tool-call',
    toolCallId,
    toolName,
    input: tryParseJson(input) ?? input,
    providerExecuted: true,
    ...metadataField('providerOptions', providerMetadata),
  };
}

function toReplayResult(part: SdkPartOf<'tool-result'>): ReplayPart {
  const { toolCallId, toolName, result, isError, providerMetadata } = part;
  return {
    type: 'tool-result',
    toolCallId,
    toolName,
    output: { type: isError ? 'error-json' : 'json', value: toJson(result) },
    ...metadataField('providerOptions', providerMetadata),
  };
}
