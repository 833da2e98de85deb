import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import type { Chunk } from '../../core/chunk.js';
import { toJson } from '../../core/json/toJson.js';
import { createInputs } from './callFragments.js';
import type { SdkPart } from './openStream.js';
import { hasMetadata, ownData } from './providerData.js';
import type { Echoed } from './providerData.js';
import { createReasoning, providerPart } from './providerParts.js';
import { createSources, fileOf } from './sources.js';

type Of<Type extends SdkPart['type']> = Extract<SdkPart, { readonly type: Type }>;

/** The content of one answer. */
export interface Content {
  add(part: SdkPart): void;
  /** Whether a call of the client's has begun and is not whole. */
  readonly unfinished: boolean;
  /**
   * Nothing follows: what waits for the next part stays with the message. Where the model will go on it stands within it, as a text of nothing: the
   * two messages go back as one, and what one of them ended with must not move behind the other.
   */
  end(paused: boolean): void;
  /** The answer broke off: what waits for the end of a text is told. */
  readonly breakOff: () => void;
}

/**
 * Reads text, reasoning, calls, files and sources.
 *
 * Reasoning and what the provider ran itself are no parts of a message, and must go back in their place among them. They are held until the next part of
 * the message, and left with it as what stood before it. A text that they follow is set apart first, with a chunk that has data and no text: otherwise
 * it would be joined with the text behind them; and so is one without metadata from one that has some. Sources within a text are told after it, so
 * that it stays one part.
 */
export function createContent(provider: string, offered: ReadonlySet<string>, emit: (chunk: Chunk) => void): Content {
  const { tell, setApart } = createApart(provider, emit);
  const inputs = createInputs(offered, (fragment) => tell({ type: 'toolCallFragment', ...fragment }));
  let text: { said: boolean; metadata: unknown } | undefined;
  let held: Echoed[] = [];
  const sources = createSources(provider, (source) => tell({ type: 'source', source }));

  const take = () => {
    const taken = held;
    held = [];
    return taken;
  };
  const closeText = (citations: readonly LanguageModelV4Citation[] = []) => {
    if (text && (text.said || hasMetadata(text.metadata))) {
      const own = ownData(provider, text.metadata, take());
      if (own.providerData) tell({ type: 'text', text: '', ...own });
    }
    text = undefined;
    sources.cite(citations);
    sources.settle();
  };
  const keep = (part: Echoed) => {
    setApart();
    held.push(part);
  };
  const reasoning = createReasoning((thought) => tell({ type: 'thinking', text: thought }), keep);
  /** Another part begins. */
  const close = () => {
    closeText();
    reasoning.settle();
  };

  const addText = (part: Of<'text-start' | 'text-delta' | 'text-end'>) => {
    if (part.type === 'text-start') closeText();
    text ??= { said: false, metadata: undefined };
    text.metadata = part.providerMetadata ?? text.metadata;
    const says = part.type === 'text-delta' && part.delta !== '';
    if (!text.said && (says || hasMetadata(text.metadata))) reasoning.settle();
    if (!text.said && hasMetadata(text.metadata)) setApart(); // from a text without any
    if (says) {
      text.said = true;
      tell({ type: 'text', text: part.delta });
    }
    if (part.type === 'text-end') closeText('citations' in part ? part.citations : []);
  };
  const addOther = (part: SdkPart) => {
    const theirs = providerPart(part);
    if (!theirs) return; // raw, ping, and what a later version adds
    tell({ type: 'metadata', metadata: theirs.metadata });
    if (!theirs.echoed) return;
    close();
    keep(theirs.echoed);
  };

  return {
    breakOff: sources.settle,
    get unfinished() {
      return inputs.open;
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
          inputs.start(part);
          break;
        case 'tool-input-delta':
          inputs.piece(part);
          break;
        case 'tool-call':
          if (part.providerExecuted) addOther(part);
          else {
            close();
            inputs.whole(part, ownData(provider, part.providerMetadata, take()));
          }
          break;
        case 'file':
          close();
          tell({ type: 'file', file: fileOf(part, ownData(provider, part.providerMetadata, take())) });
          break;
        case 'source':
          sources.add(part, text !== undefined);
          break;
        default:
          addOther(part);
      }
    },
    end(paused) {
      close();
      if (held.length === 0) return;
      if (paused) tell({ type: 'text', text: '', ...ownData(provider, undefined, take()) });
      else tell({ type: 'providerData', provider, data: { after: toJson(take()) } });
    },
  };
}

/** Tells chunks, and keeps texts apart that the message would join. */
export interface Apart {
  readonly tell: (chunk: Chunk) => void;
  /** What is told next is not joined with a text before it: that one ends, by a chunk that has data and no text. */
  readonly setApart: () => void;
}

/**
 * Follows what `consolidate` joins: a text with the one before it, unless that one has data or something that is a part stands between.
 *
 * @param provider Under whose name the data are.
 * @param emit Takes the chunks.
 */
export function createApart(provider: string, emit: (chunk: Chunk) => void): Apart {
  let loose = false;
  const tell = (chunk: Chunk) => {
    if (chunk.type === 'text') loose = chunk.providerData === undefined;
    else if (chunk.type === 'file' || chunk.type === 'source' || (chunk.type === 'toolCallFragment' && chunk.done))
      loose = false;
    emit(chunk);
  };
  return {
    tell,
    setApart() {
      if (loose) tell({ type: 'text', text: '', providerData: { [provider]: {} } });
    },
  };
}
