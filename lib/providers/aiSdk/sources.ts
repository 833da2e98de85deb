import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import type { SourcePart } from '../../core/message.js';
import { sourceOf } from './filesAndSources.js';
import type { SdkPart } from './openStream.js';

type Source = Extract<SdkPart, { readonly type: 'source' }>;

/** The sources of one answer. */
export interface Sources {
  /** A source; one within a text waits for its end, so that the text stays one part. */
  add(source: Source, within: boolean): void;
  /** What the text cites: sources with the passage, but for one that was told already. */
  cite(citations: readonly LanguageModelV4Citation[]): void;
  /** The text has ended, or the answer has broken off. */
  readonly settle: () => void;
}

/**
 * Tells what the model cites.
 *
 * A citation may name a source that came by itself too, under another id (`@ai-sdk/anthropic` makes one up for the first and
 * counts documents for the second): pages are told apart by their address, documents by their title and file. One that still waits is told with its
 * passage.
 *
 * @param provider The name for what has no field of its own.
 * @param tell Takes the sources.
 */
export function createSources(provider: string, tell: (source: SourcePart) => void): Sources {
  const told = new Set<string>();
  let waiting: Source[] = [];
  const put = (source: Source) => {
    told.add(identity(source));
    tell(sourceOf(source, provider));
  };
  const citeOne = ({ source, ...citation }: LanguageModelV4Citation) => {
    const name = identity(source);
    const passage = JSON.stringify([name, citation.citedText]);
    const came = waiting.find((one) => identity(one) === name);
    waiting = waiting.filter((one) => one !== came);
    if (told.has(passage) || (!came && told.has(name))) return;
    told.add(passage);
    tell(sourceOf(came ?? source, provider, citation));
  };
  return {
    add(source, within) {
      if (within) waiting.push(source);
      else put(source);
    },
    cite(citations) {
      citations.forEach(citeOne);
    },
    settle() {
      waiting.forEach(put);
      waiting = [];
    },
  };
}

const identity = (source: Source): string =>
  JSON.stringify(source.sourceType === 'url' ? { url: source.url } : { title: source.title, filename: source.filename });
