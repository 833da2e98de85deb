import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import type { Chunk, ProviderChunk } from '../../core/chunk.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { createCallDecoder } from './calls.js';
import type { SdkPart, SdkPartOf } from './openStream.js';
import { hasMetadata, metadataField, toProviderData, type ReplayPart } from './providerData.js';
import { reportedPart } from './providerParts.js';
import { createSourceDecoder, toFile } from './sources.js';

export interface ContentDecoder {
  add(part: SdkPart): void;
  readonly hasOpenInput: () => boolean;
  readonly end: () => void;
  readonly interrupt: () => void;
}

/** Provider parts separate texts. Sources inside a text come after it, so that the text stays one part. */
export function createContentDecoder(
  provider: string,
  offered: ReadonlySet<string>,
  out: (chunk: Chunk) => void,
): ContentDecoder {
  const separator = createTextSeparator(provider, out);
  const { emit } = separator;
  const emitReplayPart = (part: ReplayPart) => emit(toReplayChunk(provider, part));
  const calls = createCallDecoder(offered, emit);
  const sources = createSourceDecoder(provider, (source) => emit({ type: 'source', source }));
  const reasoning = createReasoningDecoder((text) => emit({ type: 'thinking', text }), emitReplayPart);
  const text = createTextDecoder(provider, separator, reasoning.storeBlocks, (citations) => {
    sources.addCitations(citations);
    sources.endText();
  });

  const closeTextAndReasoning = () => {
    text.close();
    reasoning.storeBlocks();
  };
  const addCall = (part: SdkPartOf<'tool-call'>) => {
    calls.endInput(part.toolCallId);
    if (part.providerExecuted) {
      addProviderPart(part);
      return;
    }
    closeTextAndReasoning();
    calls.add(part, toProviderData(provider, part.providerMetadata));
  };
  const addProviderPart = (part: SdkPart) => {
    const reported = reportedPart(part);
    if (!reported) {
      if (!silentParts.has(part.type)) emit({ type: 'metadata', metadata: { [provider]: unknownPart(part) } });
      return;
    }
    emit({ type: 'metadata', metadata: reported.metadata });
    if (!reported.replayPart) return;
    closeTextAndReasoning();
    emitReplayPart(reported.replayPart);
  };

  return {
    hasOpenInput: () => calls.hasOpenInput,
    add(part) {
      calls.completeEnded();
      switch (part.type) {
        case 'text-start':
        case 'text-delta':
        case 'text-end':
          text.add(part);
          break;
        case 'reasoning-start':
        case 'reasoning-delta':
        case 'reasoning-end':
          text.close();
          reasoning.add(part);
          break;
        case 'tool-input-start':
          text.close();
          calls.start(part);
          break;
        case 'tool-input-delta':
          calls.delta(part);
          break;
        case 'tool-call':
          addCall(part);
          break;
        case 'file':
          closeTextAndReasoning();
          emit({ type: 'file', file: toFile(part, toProviderData(provider, part.providerMetadata)) });
          break;
        case 'source':
          sources.add(part, text.isOpen);
          break;
        default:
          addProviderPart(part);
      }
    },
    end: closeTextAndReasoning,
    interrupt: sources.endText,
  };
}

type Citations = readonly LanguageModelV4Citation[];

/** `begin` is called before what a text emits first, `end` after its last chunk. */
function createTextDecoder(
  provider: string,
  { emit, separateText }: TextSeparator,
  begin: () => void,
  end: (citations: Citations) => void,
) {
  let open: { hasContent: boolean; metadata: unknown } | undefined;
  const close = (citations: Citations = []) => {
    if (hasMetadata(open?.metadata)) emit(textEnd(provider, open?.metadata));
    open = undefined;
    end(citations);
  };
  return {
    get isOpen() {
      return open !== undefined;
    },
    close,
    add(part: SdkPartOf<'text-start' | 'text-delta' | 'text-end'>) {
      if (part.type === 'text-start') close();
      open ??= { hasContent: false, metadata: undefined };
      open.metadata = part.providerMetadata ?? open.metadata;
      const delta = part.type === 'text-delta' ? part.delta : '';
      if (!open.hasContent) {
        const hasData = hasMetadata(open.metadata);
        if (delta !== '' || hasData) begin();
        if (hasData) separateText();
      }
      if (delta !== '') {
        open.hasContent = true;
        emit({ type: 'text', text: delta });
      }
      if (part.type === 'text-end') close('citations' in part ? part.citations : []);
    },
  };
}

interface ReasoningBlock {
  text: StringBuilder;
  metadata: unknown;
  isDirty: boolean;
}

/** Some models end a block only with the response (`@ai-sdk/google`): it is stored when another part follows. */
function createReasoningDecoder(emitThinking: (text: string) => void, store: (part: ReplayPart) => void) {
  const blocks = new Map<string, ReasoningBlock>();
  const storeBlock = (block: ReasoningBlock) => {
    if (!block.isDirty) return;
    store({ type: 'reasoning', text: block.text.toString(), ...metadataField('providerOptions', block.metadata) });
    block.text = new StringBuilder();
    block.isDirty = false;
  };
  return {
    add(part: SdkPartOf<'reasoning-start' | 'reasoning-delta' | 'reasoning-end'>) {
      const block = blocks.get(part.id) ?? { text: new StringBuilder(), metadata: undefined, isDirty: false };
      blocks.set(part.id, block);
      block.metadata = part.providerMetadata ?? block.metadata;
      block.isDirty ||= hasMetadata(part.providerMetadata);
      if (part.type === 'reasoning-delta' && part.delta !== '') {
        block.text.add(part.delta);
        block.isDirty = true;
        emitThinking(part.delta);
      }
      if (part.type !== 'reasoning-end') return;
      storeBlock(block);
      blocks.delete(part.id);
    },
    storeBlocks: () => blocks.forEach(storeBlock),
  };
}

function toReplayChunk(provider: string, part: ReplayPart): ProviderChunk {
  // A call that requires an approval has to be in a message to be answered.
  const standsAlone = part.type === 'tool-call' ? ({ standsAlone: true } as const) : {};
  return { type: 'provider', provider, data: toJson(part) as JsonObject, ...standsAlone };
}

/** They contain nothing new: the end of an input that its call repeats, and the provider's own frames. */
const silentParts: ReadonlySet<string> = new Set(['tool-input-end', 'raw', 'ping']);

/** A part of a later version as JSON; only its type if JSON cannot represent it; null if the type is not a text. */
function unknownPart(part: SdkPart): JsonValue {
  try {
    return toJson(part);
  } catch {
    const type: unknown = part.type;
    return typeof type === 'string' ? { type } : null;
  }
}

interface TextSeparator {
  readonly emit: (chunk: Chunk) => void;
  readonly separateText: () => void;
}

const textEnd = (provider: string, metadata?: unknown): ProviderChunk => ({
  type: 'provider',
  provider,
  data: { type: 'text', ...metadataField('providerOptions', metadata) },
});

/** `consolidate` joins a text with the text before it, unless a part separates them. */
function createTextSeparator(provider: string, out: (chunk: Chunk) => void): TextSeparator {
  let wouldJoin = false;
  const emit = (chunk: Chunk) => {
    switch (chunk.type) {
      case 'text':
        wouldJoin = true;
        break;
      case 'file':
      case 'source':
      case 'provider':
        wouldJoin = false;
        break;
      case 'toolCallFragment':
        if (chunk.done) wouldJoin = false;
        break;
      default:
    }
    out(chunk);
  };
  return {
    emit,
    separateText() {
      if (wouldJoin) emit(textEnd(provider));
    },
  };
}
