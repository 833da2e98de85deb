import { asArray, isRecord, nonEmptyString, type JsonObject } from '../../core/json/json.js';

export type TextKind = 'text' | 'thinking' | 'refusal';

export interface TextSegment {
  readonly kind: TextKind;
  readonly text: string;
  readonly part?: unknown;
}

export function readText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return asArray(value).map(readItemText).join('');
}

function readItemText(item: unknown): string {
  if (typeof item === 'string') return item;
  return isRecord(item) ? (nonEmptyString(item['text']) ?? '') : '';
}

/** The texts of an array of parts (Mistral documents text and thinking parts). One by one: there may be millions. */
export function* readSegments(content: unknown): Iterable<TextSegment> {
  for (const part of asArray(content)) {
    if (isRecord(part)) yield readSegment(part);
    else if (typeof part === 'string') yield { kind: 'text', text: part, part };
  }
}

function readSegment(part: Readonly<Record<string, unknown>>): TextSegment {
  switch (part['type']) {
    case 'refusal':
      return { kind: 'refusal', text: readText(part['refusal']), part };
    case 'thinking':
    case 'reasoning': {
      // The text is in a field with the name of the type, in `summary` (Databricks), or in `text`.
      const named = readText(part['thinking']) || readText(part['reasoning']) || readText(part['summary']);
      return { kind: 'thinking', text: named || readItemText(part), part };
    }
    default:
      return { kind: 'text', text: readItemText(part), part };
  }
}

/** The first: DeepSeek, vLLM, SGLang; the second: Groq, Ollama, OpenRouter; the third: GitHub Copilot. */
export const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const;

/** Some gateways send the same text in two fields: the first one counts. */
export function readPlainReasoning(delta: JsonObject): string {
  for (const field of reasoningFields) {
    const text = readText(delta[field]);
    if (text !== '') return text;
  }
  return '';
}
