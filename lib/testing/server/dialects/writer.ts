import type { Chunk, FinishChunk } from '../../../core/chunk.js';
import { createCallCollector, type CompleteCall } from './completeCalls.js';
import { unsupportedChunk, type DialectFrame, type DialectWriter } from './dialect.js';

type Frames = readonly DialectFrame[];

interface WriterParts {
  readonly begin?: (first: Chunk) => Frames;
  readonly call?: (call: CompleteCall) => Frames;
  readonly chunks: { readonly [T in Chunk['type']]?: (chunk: Extract<Chunk, { readonly type: T }>) => Frames };
  readonly error: (error: unknown) => Frames;
  readonly end?: (finish: FinishChunk) => Frames;
}

export function createWriter(api: string, { begin, call, chunks, error, end }: WriterParts): DialectWriter {
  const calls = createCallCollector();
  let hasBegun = false;
  let finish: FinishChunk | undefined;

  function callFrames(chunk: Chunk): Frames {
    if (!call) return [];
    return (chunk.type === 'toolCallFragment' ? calls.add(chunk) : calls.flush()).flatMap(call);
  }

  function chunkFrames(chunk: Chunk): Frames {
    if (call && chunk.type === 'toolCallFragment') return [];
    const write = Object.hasOwn(chunks, chunk.type) ? (chunks[chunk.type] as (chunk: Chunk) => Frames) : undefined;
    if (!write) throw unsupportedChunk(api, chunk);
    return write(chunk);
  }

  return {
    next(chunk) {
      const first = hasBegun ? [] : (begin?.(chunk) ?? []);
      hasBegun = true;
      const frames = [...first, ...callFrames(chunk), ...chunkFrames(chunk)];
      if (chunk.type === 'finish') finish = chunk;
      return frames;
    },
    error,
    end: () => (finish && end ? end(finish) : []),
  };
}
