import { nineDigits } from './mistralCallId.js';

/** The longest id of a call that OpenAI takes ("string too long. Expected a string with maximum length 40"). */
const longest = 40;

/**
 * An id of a tool call as OpenAI takes it: at most 40 characters. Other providers' are longer (some carry a signature); such an id becomes a hash of
 * itself, so that a call and its result agree, in each request.
 *
 * @param id Any id.
 */
export function shortCallId(id: string): string {
  return id.length <= longest ? id : `call_${nineDigits(id)}`;
}
