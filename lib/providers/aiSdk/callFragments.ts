import { tryParseJson } from '../../core/json/json.js';
import type { ToolCallFragment } from '../../core/chunk.js';
import type { ProviderData } from '../../core/message.js';
import type { SdkPart } from './openStream.js';

type Of<Type extends SdkPart['type']> = Extract<SdkPart, { readonly type: Type }>;

/** The calls of the client, as fragments. */
export interface Inputs {
  start(part: Of<'tool-input-start'>): void;
  piece(part: Of<'tool-input-delta'>): void;
  whole(part: Of<'tool-call'>, own: { readonly providerData?: ProviderData }): void;
  /** Whether a call has begun that is not whole. */
  readonly open: boolean;
}

/**
 * Makes fragments of the parts of calls: the input as it streams (`tool-input-*`, under the id), then the call (`tool-call`), which repeats it whole.
 *
 * Only the `tool-call` says for sure who executes it. So an input streams on where its start names a tool that was offered and is not marked as the
 * provider's; of others the `tool-call` is waited for.
 *
 * @param offered The names of the client's tools.
 * @param tell Takes the fragments.
 */
export function createInputs(
  offered: ReadonlySet<string>,
  tell: (fragment: Omit<ToolCallFragment, 'type'>) => void,
): Inputs {
  const streamed = new Map<string, string>();
  return {
    get open() {
      return streamed.size > 0;
    },
    start({ id, toolName: name, providerExecuted, ...rest }) {
      const asText = 'inputEncoding' in rest && rest.inputEncoding === 'text'; // its pieces are no JSON, the `tool-call` has it
      if (providerExecuted || asText || !offered.has(name)) return;
      streamed.set(id, '');
      tell({ index: id, id, name });
    },
    piece({ id, delta }) {
      const before = streamed.get(id);
      if (before === undefined || delta === '') return;
      streamed.set(id, before + delta);
      tell({ index: id, id, arguments: delta });
    },
    whole({ toolCallId: id, toolName: name, input }, own) {
      const said = streamed.get(id) ?? '';
      streamed.delete(id);
      const missing = tryParseJson(said) !== undefined ? '' : input.startsWith(said) ? input.slice(said.length) : '';
      // A call that the limit of tokens has cut is also announced as whole.
      const done = input.trim() === '' || tryParseJson(input) !== undefined ? ({ done: true } as const) : {};
      tell({ index: id, id, name, ...(missing === '' ? {} : { arguments: missing }), ...done, ...own });
    },
  };
}
