import type { Chunk } from '../../core/chunk.js';
import type { ProviderData } from '../../core/providerPart.js';
import { createCallFragments } from '../shared/callFragments.js';
import type { SdkPartOf } from './openStream.js';

export interface CallDecoder {
  start(part: SdkPartOf<'tool-input-start'>): void;
  delta(part: SdkPartOf<'tool-input-delta'>): void;
  /** The `tool-call` of a streamed input, whoever runs the call. */
  endInput(id: string): void;
  add(part: SdkPartOf<'tool-call'>, data: { readonly providerData?: ProviderData }): void;
  /** Another part follows: a call that has ended without arguments was not truncated. */
  completeEnded(): void;
  readonly hasOpenInput: boolean;
}

/** Only the `tool-call` is a call. A middleware may change or remove it, but not the input that was streamed before. */
export function createCallDecoder(offered: ReadonlySet<string>, emit: (chunk: Chunk) => void): CallDecoder {
  const calls = createCallFragments(emit);
  const openInputs = new Set<string>();
  const preview = { type: 'toolCallFragment', preview: true } as const;
  return {
    start({ id, toolName: name, providerExecuted, ...fields }) {
      // The deltas of a plain-text input are not JSON; the input of its `tool-call` is.
      const isPlainText = 'inputEncoding' in fields && fields.inputEncoding === 'text';
      if (providerExecuted || isPlainText || !offered.has(name)) return;
      openInputs.add(id);
      emit({ ...preview, index: id, id, name });
    },
    delta({ id, delta }) {
      if (openInputs.has(id) && delta !== '') emit({ ...preview, index: id, arguments: delta });
    },
    endInput: (id) => void openInputs.delete(id),
    add({ toolCallId: id, toolName: name, input }, data) {
      // Even a call that was truncated by the token limit has a `tool-call`, also before its arguments: `{}`.
      const isEmpty = /^\{\s*\}$/.test(input.trim());
      calls.start(id, { id, name, arguments: isEmpty ? '' : input, ...data });
      calls.end(id);
    },
    completeEnded: () => calls.completeEnded(),
    get hasOpenInput() {
      return openInputs.size > 0;
    },
  };
}
