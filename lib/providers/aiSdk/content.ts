import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import type { Chunk } from '../../core/chunk.js';
import type { JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import { createCallDecoder } from './calls.js';
import type { SdkPart, SdkPartOf } from './openStream.js';
import { hasMetadata, toEndData, toProviderData } from './providerData.js';
import type { ReplayPart } from './providerData.js';
import { createReasoningDecoder, readProviderPart } from './providerParts.js';
import { createSourceDecoder, toFile } from './sources.js';

/** Converts the content of one response to chunks. */
export interface ContentDecoder {
  add(part: SdkPart): void;
  /** Whether a call that the client runs has started and is not complete. */
  readonly hasOpenCall: boolean;
  /**
   * Ends the response: stores the held replay parts with the message. If the model will continue (`paused`), stores
   * them inside the message, with an empty text: the two messages are sent back as one message, and the end of the
   * first must stay before the second.
   */
  end(paused: boolean): void;
  /** Ends an interrupted response: emits the sources that are held until the end of a text. */
  readonly interrupt: () => void;
}

/**
 * Creates the decoder of text, reasoning, calls, files and sources.
 *
 * Reasoning and other replay parts (calls that the provider ran and their results) are not parts of a message, but must
 * be sent back at their position among its parts. They are held until the next part of the message and stored with it,
 * as the parts that precede it. The text before them is ended first; otherwise it would be joined with the text after
 * them. For the same reason, a text without metadata is ended before a text with metadata. Sources inside a text are
 * emitted after the text, so that the text stays one part.
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
  const { emit, separateText, hasParts } = createTextSeparator(provider, out);
  const calls = createCallDecoder(offered, (fragment) => emit({ type: 'toolCallFragment', ...fragment }));
  const sources = createSourceDecoder(provider, (source) => emit({ type: 'source', source }));
  const reasoning = createReasoningDecoder((text) => emit({ type: 'thinking', text }), holdPart);
  let openText: { hasContent: boolean; metadata: unknown } | undefined;
  let heldParts: ReplayPart[] = [];

  function holdPart(part: ReplayPart): void {
    separateText();
    heldParts.push(part);
  }
  /** Removes the held parts, and returns the provider data of the part of the message that follows them. */
  const takeHeldParts = (metadata: unknown) => {
    const precedingParts = heldParts;
    heldParts = [];
    return toProviderData(provider, metadata, precedingParts);
  };
  const closeText = (citations: readonly LanguageModelV4Citation[] = []) => {
    if (openText && (openText.hasContent || hasMetadata(openText.metadata))) {
      const data = takeHeldParts(openText.metadata);
      if (data.providerData) emit({ type: 'text', text: '', ...data });
    }
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
    calls.complete(part, takeHeldParts(part.providerMetadata));
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
    holdPart(providerPart.replayPart);
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
          emit({ type: 'file', file: toFile(part, takeHeldParts(part.providerMetadata)) });
          break;
        case 'source':
          sources.add(part, openText !== undefined);
          break;
        default:
          addProviderPart(part);
      }
    },
    end(paused) {
      closeTextAndReasoning();
      if (heldParts.length === 0) return;
      // Provider data alone makes no message, but a call that requires an approval has to be in one to be answered.
      const needsMessage = !hasParts() && heldParts.some(({ type }) => type === 'tool-call');
      if (paused || needsMessage) emit({ type: 'text', text: '', ...takeHeldParts(undefined) });
      else emit({ type: 'providerData', provider, data: toEndData(heldParts) });
    },
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
  /** Ends the current text with an empty chunk that has data, so that the next text is not joined with it. */
  readonly separateText: () => void;
  /** Whether an emitted chunk has become a part of the message. */
  readonly hasParts: () => boolean;
}

/**
 * Creates the separator of texts. `consolidate` joins a text with the text before it, unless that text has provider
 * data or another part is between them.
 */
function createTextSeparator(provider: string, out: (chunk: Chunk) => void): TextSeparator {
  let wouldJoin = false;
  let hasParts = false;
  const emit = (chunk: Chunk) => {
    hasParts ||= partTypes.has(chunk.type);
    switch (chunk.type) {
      case 'text':
        wouldJoin = chunk.providerData === undefined;
        break;
      case 'file':
      case 'source':
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
    hasParts: () => hasParts,
    separateText() {
      if (wouldJoin) emit({ type: 'text', text: '', providerData: { [provider]: {} } });
    },
  };
}

const partTypes: ReadonlySet<Chunk['type']> = new Set(['text', 'file', 'source', 'toolCallFragment'] as const);
