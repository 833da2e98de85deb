import { isRecord } from '../core/json/json.js';
import { toolErrorTexts } from '../core/message.js';

/** Fields whose values are not content: they are kept. */
const keptFields = new Set([
  'type',
  'kind',
  'role',
  'id',
  'name',
  'index',
  'done',
  'finishReason',
  'rawReason',
  'reason',
  'code',
  'usage',
  'turn',
  'turns',
  'attempt',
  'delay',
  'status',
  'provider',
  'retryable',
  'mediaType',
  'answeredBy',
  'cost',
  'outcome',
  'orchestrator',
  'toolConcurrency',
  'eagerTools',
  'toolDeadline',
  'maxTurns',
  'tools',
  'model',
  'field',
  'of',
  'run',
  'request',
  'at',
  'after',
  'earlier',
  'version',
  'resumed',
  'dropped',
  'method',
  'headers',
  'end',
]);

/** Fields that hold values of tools, of providers and of the user: nothing in them is kept. */
const opaqueFields = new Set(['answers', 'arguments', 'output', 'data', 'providerData', 'parameters', 'settings']);

/**
 * Replaces the content of a value by dots of the same length: what people, models and tools wrote. The structure, the
 * types, the ids, the definitions of tools, the reasons and the usage are kept.
 */
export function maskContent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskContent);
  if (!isRecord(value)) return maskLeaf(value);
  const masked: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(value)) masked[field] = maskField(value, field, inner);
  return masked;
}

function maskField(owner: Readonly<Record<string, unknown>>, field: string, value: unknown): unknown {
  // The arguments of a fragment are a part of a JSON text, which dots would not be.
  if (isOpaque(owner, field)) return typeof value === 'string' && field === 'arguments' ? '' : maskAll(value);
  if (field === 'name' && owner['type'] === 'file') return maskLeaf(value);
  if (field === 'path' && Array.isArray(value)) return value; // the ids of calls
  if (field === 'error' && typeof value === 'string') return maskError(value);
  return keptFields.has(field) ? value : maskContent(value);
}

/** Errors that the library itself writes, or their beginning: they say what happened to a call, and are no content. */
const errorBeginnings = [`${toolErrorTexts.denied} Reason: `, 'Invalid arguments: ', ...Object.values(toolErrorTexts)];

function maskError(error: string): string {
  const beginning = errorBeginnings.find((text) => error.startsWith(text)) ?? '';
  return beginning + maskedText(error.slice(beginning.length));
}

/** The value of progress is content. */
function isOpaque(owner: Readonly<Record<string, unknown>>, field: string): boolean {
  if (field === 'result') return owner['type'] === 'toolResult';
  if (field === 'value') return owner['type'] === 'toolProgress';
  return opaqueFields.has(field);
}

function maskAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskAll);
  if (!isRecord(value)) return maskLeaf(value);
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, maskAll(inner)]));
}

/** A text keeps its length, so that a drawing shows the same rates. */
function maskLeaf(value: unknown): unknown {
  if (typeof value === 'string') return maskedText(value);
  return typeof value === 'number' ? 0 : value;
}

/** Dots of the length of a text. */
export const maskedText = (text: string): string => '·'.repeat(text.length);
