import { identity, pipe, type MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import type { ModelRequest } from '../../core/model.js';
import { extractTextCalls, type TextCallOptions } from './textCalls.js';
import { extractThinking, keepThinkTags } from './thinkTags.js';

/** The options of models with open weights: what they may write as text. */
export interface OpenTextOptions extends TextCallOptions {
  /** Whether text in `<think>` tags at the start of a response is thinking. Default: false, but true for `together`. */
  readonly thinkTags?: boolean | undefined;
}

/** With a `provider`, thinking in tags is stored for it. */
export const readOpenText =
  ({ thinkTags, textCalls }: OpenTextOptions, provider?: string) =>
  (request: ModelRequest): MonoTypeOperatorFunction<Chunk> => {
    const readCalls = textCalls ? extractTextCalls(request) : identity;
    if (!thinkTags) return readCalls;
    return provider === undefined ? pipe(extractThinking(), readCalls) : keepThinkTags(provider, readCalls);
  };
