import type { ToolCallFragment } from '../../core/chunk.js';
import { tryParseJson } from '../../core/json/json.js';
import type { ProviderData } from '../../core/message.js';
import type { SdkPartOf } from './openStream.js';

/** Turns the client's calls into fragments. */
export interface CallDecoder {
  start(part: SdkPartOf<'tool-input-start'>): void;
  delta(part: SdkPartOf<'tool-input-delta'>): void;
  complete(part: SdkPartOf<'tool-call'>, data: { readonly providerData?: ProviderData }): void;
  /** Whether a call has started that is not complete. */
  readonly hasOpenCall: boolean;
}

/**
 * Creates the decoder of the client's calls: the input as it streams (`tool-input-*`, under the call's id), then the
 * `tool-call`, which repeats it.
 *
 * Only the `tool-call` says reliably who executes the call. So an input streams only if its start names an offered tool
 * and is not marked as the provider's; the others wait for their `tool-call`.
 *
 * @param offered The names of the client's tools.
 * @param emit Takes the fragments.
 */
export function createCallDecoder(
  offered: ReadonlySet<string>,
  emit: (fragment: Omit<ToolCallFragment, 'type'>) => void,
): CallDecoder {
  const openInputs = new Map<string, string>();
  return {
    get hasOpenCall() {
      return openInputs.size > 0;
    },
    start({ id, toolName: name, providerExecuted, ...fields }) {
      // The deltas of an input in plain text are not JSON; its `tool-call` is.
      const isPlainText = 'inputEncoding' in fields && fields.inputEncoding === 'text';
      if (providerExecuted || isPlainText || !offered.has(name)) return;
      openInputs.set(id, '');
      emit({ index: id, id, name });
    },
    delta({ id, delta }) {
      const before = openInputs.get(id);
      if (before === undefined || delta === '') return;
      openInputs.set(id, before + delta);
      emit({ index: id, id, arguments: delta });
    },
    complete({ toolCallId: id, toolName: name, input }, data) {
      const missing = missingInput(openInputs.get(id) ?? '', input);
      openInputs.delete(id);
      // A call that the token limit truncated also has a `tool-call`.
      const isComplete = input.trim() === '' || tryParseJson(input) !== undefined;
      emit({
        index: id,
        id,
        name,
        ...(missing === '' ? {} : { arguments: missing }),
        ...(isComplete ? { done: true } : {}),
        ...data,
      });
    },
  };
}

/** The end of an input that has not been streamed. */
function missingInput(streamed: string, input: string): string {
  if (tryParseJson(streamed) !== undefined) return '';
  return input.startsWith(streamed) ? input.slice(streamed.length) : '';
}
