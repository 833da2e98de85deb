import type { Chunk } from '../../core/chunk.js';

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
    else if (chunk.type === 'file' || chunk.type === 'source' || (chunk.type === 'toolCallFragment' && chunk.done)) loose = false;
    emit(chunk);
  };
  return {
    tell,
    setApart() {
      if (loose) tell({ type: 'text', text: '', providerData: { [provider]: {} } });
    },
  };
}
