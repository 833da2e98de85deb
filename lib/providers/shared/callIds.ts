// Providers restrict the ids of tool calls. Invalid ids, which come from other providers, are replaced. A call and its
// result get the same new id.

/**
 * The id that Mistral accepts: any other one is rejected (400, "Tool call id was ... but must be a-z, A-Z, 0-9, with a
 * length of 9"). The hash has 46 bits: among two million ids, two collided in every third attempt (measured).
 */
export function mistralCallId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hashId(id);
}

/** Ids of other providers may contain a signature. The hash is the same for a call and its result, in every request. */
export function shortCallId(id: string, maxLength = 40): string {
  return id.length <= maxLength ? id : `call_${hashId(id)}`;
}

/** Nine letters and digits: the lower digits of two multiplicative hashes of 32 bits. */
function hashId(id: string): string {
  let [first, second] = [0, 0];
  for (let index = 0; index < id.length; index += 1) {
    first = Math.imul(first ^ id.charCodeAt(index), 0x9e3779b1) ^ (first >>> 15);
    second = Math.imul(second + id.charCodeAt(index), 0x85ebca6b) ^ (second >>> 13);
  }
  return lowerDigits(first, 5) + lowerDigits(second, 4);
}

const lowerDigits = (hash: number, count: number): string =>
  (hash >>> 0).toString(36).padStart(count, '0').slice(-count);

/** Anthropic rejects any other id with status 400. The hash keeps two ids different. */
export const anthropicCallId = (id: string): string =>
  /^[a-zA-Z0-9_-]+$/.test(id) ? id : `${id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call'}_${hashId(id)}`;
