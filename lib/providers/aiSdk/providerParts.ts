import { tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import type { SdkPart } from './openStream.js';
import { hasMetadata, metadataField } from './providerData.js';
import type { Echoed } from './providerData.js';

/** The reasoning of one answer. */
export interface Reasoning {
  add(part: Extract<SdkPart, { readonly type: 'reasoning-start' | 'reasoning-delta' | 'reasoning-end' }>): void;
  /** Something else follows: what was reasoned so far stands before it. */
  readonly settle: () => void;
}

interface Block {
  text: StringBuilder;
  metadata: unknown;
  /** Whether it has text or metadata that are not kept yet. */
  news: boolean;
}

/**
 * Reads reasoning, block by block.
 *
 * Some models end a block only with the answer, behind the calls that it led to (`@ai-sdk/google`). A block stands where it began, so it is kept once
 * something else follows; what it goes on with is a part of its own.
 *
 * @param think Takes the deltas.
 * @param keep Takes what goes back.
 */
export function createReasoning(think: (text: string) => void, keep: (part: Echoed) => void): Reasoning {
  const blocks = new Map<string, Block>();
  const settleBlock = (block: Block) => {
    if (!block.news) return;
    keep({ type: 'reasoning', text: block.text.toString(), ...metadataField('providerOptions', block.metadata) });
    block.text = new StringBuilder();
    block.news = false;
  };
  return {
    add(part) {
      const block = blocks.get(part.id) ?? { text: new StringBuilder(), metadata: undefined, news: false };
      blocks.set(part.id, block);
      block.metadata = part.providerMetadata ?? block.metadata;
      block.news ||= hasMetadata(part.providerMetadata);
      if (part.type === 'reasoning-delta' && part.delta !== '') {
        block.text.add(part.delta);
        block.news = true;
        think(part.delta);
      }
      if (part.type !== 'reasoning-end') return;
      settleBlock(block);
      blocks.delete(part.id);
    },
    settle: () => blocks.forEach(settleBlock),
  };
}

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
      const call = {
        type: part.type,
        toolCallId,
        toolName,
        input: tryParseJson(input) ?? input,
        providerExecuted: true,
      } as const;
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
        echoed: {
          type: part.type,
          mediaType: part.mediaType,
          data: part.data,
          ...metadataField('providerOptions', part.providerMetadata),
        },
      };
    default:
      return undefined;
  }
}
