import { joinResponse } from '../../protocol/joinResponse.js';

/** What joins background responses again. `background` creates it. */
export interface Background {
  readonly join: typeof joinResponse;
}

/**
 * Responses that OpenAI produces without a connection: if the connection is lost, the rest is requested after a `retry`
 * chunk, and nothing is emitted or paid twice.
 *
 * <span class="informal">For answers that take minutes.</span>
 *
 * ```ts
 * const model = openai('gpt-6.1-terra', { store: true, background: background() });
 * ```
 *
 * One request is an ordinary one with `providerOptions: { openai: { background: false } }`.
 *
 * @returns The value of the option `background` of `openai`, which requires `store: true`.
 */
export const background = (): Background => ({ join: joinResponse });
