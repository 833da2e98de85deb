import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import type { Chunk, ProviderChunk } from '../../core/chunk.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { createCallDecoder } from './calls.js';
import type { SdkPart, SdkPartOf } from './openStream.js';
import { hasMetadata, metadataField, toProviderData } from './providerData.js';
import type { ReplayPart } from './providerData.js';
import { createReasoningDecoder, readProviderPart } from './providerParts.js';
import { createSourceDecoder, toFile } from './sources.js';

/** Converts the content of one response to chunks. */
export interface ContentDecoder {
  add(part: SdkPart): void;
  /** Whether a call that the client runs has started and is not complete. */
  readonly hasOpenCall: boolean;
  /** Ends the response. */
  readonly end: () => void;
  /** Ends an interrupted response: emits the sources that are held until the end of a text. */
  readonly interrupt: () => void;
}

/**
 * Creates the decoder of text, reasoning, calls, files and sources.
 *
 * Reasoning, the calls that the provider ran and their results are provider parts, and so is the metadata of a text,
 * after it. Such a part also ends a text without metadata before a text with metadata. Sources inside a text come
 * after the text, so that the text stays one part.
 *
 * @param provider The model's provider, which is the key of its provider data.
 * @param offered The names of the client's tools.
 * @param out Receives the chunks.
 */
export function createContentDecoder(
  provider: string,
  offered: ReadonlySet<string>,
  out: (chunk: Chunk) => void,
): ContentDecoder {
  const { emit, separateText } = createTextSeparator(provider, out);
  const calls = createCallDecoder(offered, (fragment) => emit({ type: 'toolCallFragment', ...fragment }));
  const sources = createSourceDecoder(provider, (source) => emit({ type: 'source', source }));
  const reasoning = createReasoningDecoder((text) => emit({ type: 'thinking', text }), emitReplayPart);
  let openText: { hasContent: boolean; metadata: unknown } | undefined;

  function emitReplayPart(part: ReplayPart): void {
    // A call that requires an approval has to be in a message to be answered.
    const standsAlone = part.type === 'tool-call' ? ({ standsAlone: true } as const) : {};
    emit({ type: 'provider', provider, data: toJson(part) as JsonObject, ...standsAlone });
  }
  const closeText = (citations: readonly LanguageModelV4Citation[] = []) => {
    if (hasMetadata(openText?.metadata)) emit(textEnd(provider, openText?.metadata));
    openText = undefined;
    sources.addCitations(citations);
    sources.endText();
  };
  const closeTextAndReasoning = () => {
    closeText();
    reasoning.storeBlocks();
  };
  const addText = (part: SdkPartOf<'text-start' | 'text-delta' | 'text-end'>) => {
    if (part.type === 'text-start') closeText();
    openText ??= { hasContent: false, metadata: undefined };
    openText.metadata = part.providerMetadata ?? openText.metadata;
    const delta = part.type === 'text-delta' ? part.delta : '';
    if (!openText.hasContent) {
      const hasData = hasMetadata(openText.metadata);
      if (delta !== '' || hasData) reasoning.storeBlocks();
      if (hasData) separateText();
    }
    if (delta !== '') {
      openText.hasContent = true;
      emit({ type: 'text', text: delta });
    }
    if (part.type === 'text-end') closeText('citations' in part ? part.citations : []);
  };
  const addCall = (part: SdkPartOf<'tool-call'>) => {
    if (part.providerExecuted) {
      addProviderPart(part);
      return;
    }
    closeTextAndReasoning();
    calls.complete(part, toProviderData(provider, part.providerMetadata));
  };
  const addProviderPart = (part: SdkPart) => {
    const providerPart = readProviderPart(part);
    if (!providerPart) {
      if (!silentParts.has(part.type)) emit({ type: 'metadata', metadata: { [provider]: unknownPart(part) } });
      return;
    }
    emit({ type: 'metadata', metadata: providerPart.metadata });
    if (!providerPart.replayPart) return;
    closeTextAndReasoning();
    emitReplayPart(providerPart.replayPart);
  };

  return {
    get hasOpenCall() {
      return calls.hasOpenCall;
    },
    add(part) {
      switch (part.type) {
        case 'text-start':
        case 'text-delta':
        case 'text-end':
          addText(part);
          break;
        case 'reasoning-start':
        case 'reasoning-delta':
        case 'reasoning-end':
          closeText();
          reasoning.add(part);
          break;
        case 'tool-input-start':
          closeText();
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
          sources.add(part, openText !== undefined);
          break;
        default:
          addProviderPart(part);
      }
    },
    end: closeTextAndReasoning,
    interrupt: sources.endText,
  };
}

/** The parts that contain nothing new: the end of an input that its call repeats, and the provider's own frames. */
const silentParts: ReadonlySet<string> = new Set(['tool-input-end', 'raw', 'ping']);

/** A part of a later version as JSON; only its type if JSON cannot represent it. */
function unknownPart(part: SdkPart): JsonValue {
  try {
    return toJson(part);
  } catch {
    return { type: part.type };
  }
}

/** Emits chunks, and can separate two texts that `consolidate` would join. */
interface TextSeparator {
  readonly emit: (chunk: Chunk) => void;
  /** Ends the current text, so that the next text is not joined with it. */
  readonly separateText: () => void;
}

/** The end of a text, with its metadata. */
const textEnd = (provider: string, metadata?: unknown): ProviderChunk => ({
  type: 'provider',
  provider,
  data: { type: 'text', ...metadataField('providerOptions', metadata) },
});

/** Creates the separator of texts. `consolidate` joins a text with the text before it, unless a part separates them. */
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
