import type { JsonObject } from '../../core/json.js';
import { toJson } from '../../core/toJson.js';
import { parsedOrUndefined } from '../../protocol/errorDetails.js';
import type { SdkPart } from './openStream.js';
import { metadataField } from './own.js';
import type { Echoed } from './own.js';

/** What a part says that is the provider's own business. */
export interface ProviderPart {
  /** For the reader. */
  readonly metadata: JsonObject;
  /** What goes back to the provider. */
  readonly echoed?: Echoed;
}

/**
 * Reads what the provider does by itself: calls that it runs, with their results; requests to approve one; files of its reasoning; content of its own
 * kind. None of it is the client's to act on.
 *
 * @param part A part of the stream.
 * @returns Undefined for any other part.
 */
export function providerPart(part: SdkPart): ProviderPart | undefined {
  switch (part.type) {
    case 'tool-call': {
      if (!part.providerExecuted) return undefined;
      const { toolCallId, toolName, input } = part;
      const call = { type: part.type, toolCallId, toolName, input: parsedOrUndefined(input) ?? input, providerExecuted: true } as const;
      return {
        metadata: { providerToolCall: toJson(part) },
        echoed: { ...call, ...metadataField('providerOptions', part.providerMetadata) },
      };
    }
    case 'tool-result': {
      const metadata = { providerToolResult: toJson(part) };
      if (part.preliminary) return { metadata };
      const output = { type: part.isError ? 'error-json' : 'json', value: toJson(part.result) } as const;
      return {
        metadata,
        echoed: {
          type: part.type,
          toolCallId: part.toolCallId,
          toolName: part.toolName,
          output,
          ...metadataField('providerOptions', part.providerMetadata),
        },
      };
    }
    case 'tool-approval-request':
      return { metadata: { toolApprovalRequest: toJson(part) } };
    case 'custom':
      return {
        metadata: { custom: toJson(part) },
        echoed: { type: part.type, kind: part.kind, ...metadataField('providerOptions', part.providerMetadata) },
      };
    case 'reasoning-file':
      return {
        metadata: { thoughtFile: toJson(part) },
        echoed: { type: part.type, mediaType: part.mediaType, data: part.data, ...metadataField('providerOptions', part.providerMetadata) },
      };
    default:
      return undefined;
  }
}
