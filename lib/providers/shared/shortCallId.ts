import { nineDigits } from './mistralCallId.js';

/**
 * An id of a tool call that is not too long. Other providers' are longer (some carry a signature); such an id becomes a hash of itself, so that a
 * call and its result agree, in each request.
 *
 * @param id Any id.
 * @param longest The longest that the API takes. Default: 40, as OpenAI has it ("string too long. Expected a string with maximum length 40").
 */
export function shortCallId(id: string, longest = 40): string {
  return id.length <= longest ? id : `call_${nineDigits(id)}`;
}
