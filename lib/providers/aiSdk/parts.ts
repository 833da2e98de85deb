import { errorText, ProtocolError, type RivuletError } from '../../core/errors.js';
import { isRecord } from '../../core/json/json.js';
import type { SdkPart } from './openStream.js';

/** Fields that become texts of chunks: not each provider of the AI SDK checks what its server sends. */
const textFields: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text-delta', ['delta']],
  ['reasoning-delta', ['delta']],
  ['tool-input-start', ['id', 'toolName']],
  ['tool-input-delta', ['id', 'delta']],
  ['tool-call', ['toolCallId', 'toolName', 'input']],
  ['file', ['mediaType']],
  ['reasoning-file', ['mediaType']],
  ['source', ['id']],
] as const);

const sourceFields = ['title', 'url', 'mediaType', 'filename'] as const;

export function checkPart(part: unknown): asserts part is SdkPart {
  if (!isRecord(part)) throw new TypeError('it is not an object');
  const { type } = part;
  for (const name of textFields.get(type) ?? []) requireString(part, name);
  if (type !== 'source') return;
  for (const name of sourceFields) if (part[name] !== undefined && part[name] !== null) requireString(part, name);
}

function requireString(part: Readonly<Record<string, unknown>>, name: string): void {
  if (typeof part[name] !== 'string') throw new TypeError(`its \`${name}\` is not a string`);
}

export function unreadablePart(provider: string, part: unknown, thrown: unknown): RivuletError {
  return new ProtocolError(
    provider,
    'frame',
    `${provider} sent a ${readType(part)} that cannot be read: ${errorText(thrown)}. ` +
      'Update its AI SDK provider, or report it there.',
  );
}

function readType(part: unknown): string {
  try {
    const { type } = part as { readonly type: unknown };
    return typeof type === 'string' ? `part of the type ${JSON.stringify(type.slice(0, 50))}` : 'part without a type';
  } catch {
    return 'part without a type';
  }
}
