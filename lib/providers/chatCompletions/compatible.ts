import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { otherContent } from './otherContent.js';
import { replay } from './replay.js';

/** The parts of a dialect that servers other than OpenAI's share. `openai` does not import them. */
export const compatible = { otherContent, replay, contextLengthPatterns };
