import type { ToolCallFragment } from '../../core/chunk.js';
import { tryParseJson } from '../../core/json/json.js';
import type { ProviderData } from '../../core/providerPart.js';
import type { SdkPartOf } from './openStream.js';

export interface CallDecoder {
  start(part: SdkPartOf<'tool-input-start'>): void;
  delta(part: SdkPartOf<'tool-input-delta'>): void;
  complete(part: SdkPartOf<'tool-call'>, data: { readonly providerData?: ProviderData }): void;
  /** Another part follows: a call that has ended without arguments was not truncated. */
  completeEnded(): void;
  readonly hasOpenCall: boolean;
}

/** Only the `tool-call`, which repeats a streamed input, shows who runs the call: the rest waits for it. */
export function createCallDecoder(
  offered: ReadonlySet<string>,
  emit: (fragment: Omit<ToolCallFragment, 'type'>) => void,
): CallDecoder {
  const openInputs = new Map<string, string>();
  let ended: string | undefined;
  return {
    completeEnded() {
      if (ended !== undefined) emit({ index: ended, done: true });
      ended = undefined;
    },
    get hasOpenCall() {
      return openInputs.size > 0;
    },
    start({ id, toolName: name, providerExecuted, ...fields }) {
      // The deltas of a plain-text input are not JSON; the input of its `tool-call` is.
      const isPlainText = 'inputEncoding' in fields && fields.inputEncoding === 'text';
      if (providerExecuted || isPlainText || !offered.has(name)) return;
      openInputs.set(id, '');
      emit({ index: id, id, name });
    },
    delta({ id, delta }) {
      const streamedInput = openInputs.get(id);
      if (streamedInput === undefined || delta === '') return;
      openInputs.set(id, streamedInput + delta);
      emit({ index: id, id, arguments: delta });
    },
    complete({ toolCallId: id, toolName: name, input }, data) {
      const missing = missingInput(openInputs.get(id) ?? '', input);
      openInputs.delete(id);
      // Even a call that was truncated by the token limit has a `tool-call`, also before its arguments.
      const isEmpty = /^(\{\s*\})?$/.test(input.trim());
      const isComplete = !isEmpty && tryParseJson(input) !== undefined;
      if (isEmpty) ended = id;
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

function missingInput(streamed: string, input: string): string {
  if (tryParseJson(streamed) !== undefined) return '';
  return input.startsWith(streamed) ? input.slice(streamed.length) : '';
}
