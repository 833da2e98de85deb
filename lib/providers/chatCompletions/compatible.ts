import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { otherContent } from './otherContent.js';
import { replay } from './replay.js';

/** Parts of a `Dialect` that a bundle with `openaiChat` alone does not have. */
export const compatible = { otherContent, replay, contextLengthPatterns };
