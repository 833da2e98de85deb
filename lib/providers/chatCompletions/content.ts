import { asArray, isRecord, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/** The kinds of text in a response. */
export type TextKind = 'text' | 'thinking' | 'refusal';

/** A stretch of text of one kind. */
export interface TextSegment {
  readonly kind: TextKind;
  readonly text: string;
}

/** The text of a string, of `{ text }`, or of a list of these; empty when there is none. */
export function readText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return asArray(value).map(readItemText).join('');
}

function readItemText(item: unknown): string {
  if (typeof item === 'string') return item;
  return isRecord(item) ? (nonEmptyString(item['text']) ?? '') : '';
}

/** The segments of `content` in order: it is a string, or a list of parts (Mistral documents text and thinking parts). */
export function readSegments(content: unknown): readonly TextSegment[] {
  return asArray(content).map(readSegment);
}

function readSegment(part: unknown): TextSegment {
  if (!isRecord(part)) return { kind: 'text', text: readText(part) };
  switch (part['type']) {
    case 'refusal':
      return { kind: 'refusal', text: readText(part['refusal']) };
    case 'thinking':
    case 'reasoning':
      return { kind: 'thinking', text: readText(part['thinking']) || readText(part['reasoning']) || readText(part) };
    default:
      return { kind: 'text', text: readText(part) };
  }
}

/**
 * Where servers put reasoning: DeepSeek, vLLM and SGLang in the first field; Groq, Ollama and OpenRouter in the second;
 * GitHub Copilot in the third.
 */
const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const;

/** The reasoning of a delta: the first field that is not empty, since gateways send the same text under two names. */
export function readPlainReasoning(delta: JsonObject): string {
  for (const field of reasoningFields) {
    const text = readText(delta[field]);
    if (text !== '') return text;
  }
  return '';
}

/** The readable text of `reasoning_details` (OpenRouter): texts and summaries; encrypted details have none. */
export function readReasoningDetails(delta: JsonObject): string {
  const details = delta['reasoning_details'];
  if (details === undefined) return '';
  return asArray(details)
    .map((detail) =>
      isRecord(detail) ? (nonEmptyString(detail['text']) ?? nonEmptyString(detail['summary']) ?? '') : '',
    )
    .join('');
}
