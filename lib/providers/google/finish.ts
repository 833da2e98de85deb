import type { FinishReason } from '../../core/chunk.js';
import { readFinishReason } from '../shared/finishReasons.js';
import { GoogleUsage } from '../shared/googleUsage.js';

/** The enum `FinishReason` (SDK 3.1). After `CONTINUATION`, the API expects the same request with the token. */
export const toFinishReason = (rawReason: string): FinishReason =>
  readFinishReason(rawReason, [
    [
      'contentFilter',
      /^(LANGUAGE|IMAGE_(SAFETY|PROHIBITED_CONTENT|RECITATION)|MODEL_ARMOR|ESCALATION|PUP_LIMITED_DISABLED)$/,
    ],
    ['error', /^(MALFORMED_(FUNCTION_CALL|RESPONSE)|(UNEXPECTED|TOO_MANY)_TOOL_CALLS?|MISSING_THOUGHT_SIGNATURE)$/],
    ['paused', /^CONTINUATION$/],
  ]);

/** API reference, `UsageMetadata`. */
export const createUsage = (): GoogleUsage =>
  new GoogleUsage({
    input: 'promptTokenCount',
    toolInput: 'toolUsePromptTokenCount',
    cachedInput: 'cachedContentTokenCount',
    output: 'candidatesTokenCount',
    thoughts: 'thoughtsTokenCount',
    total: 'totalTokenCount',
  });
