const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * An id of a tool call as Mistral takes it: nine letters and digits ("Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9", its answer
 * 400 to any other). Its own ids stay; those of other providers become a hash of themselves, so that a call and its result agree, in each request.
 *
 * 53 bits of hash fit in nine digits to the base 62. Two of a thousand ids meet once in ten thousand million histories.
 *
 * @param id Any id.
 */
export function mistralCallId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : nineDigits(id);
}

/** An id as nine letters and digits that depend on nothing but it. */
export const nineDigits = (id: string): string => inBase62(hash53(id));

function inBase62(value: number): string {
  let text = '';
  for (let rest = value; text.length < 9; rest = Math.floor(rest / 62)) text = (digits[rest % 62] ?? '0') + text;
  return text;
}

/** Two multiplicative hashes of 32 bits side by side, mixed at the end; 21 bits of one and 32 of the other are kept. */
function hash53(text: string): number {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x9e3779b1);
    low = Math.imul(low ^ unit, 0x5f356495);
  }
  const mixed = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  const other = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return (mixed & 0x1fffff) * 0x1_0000_0000 + (other >>> 0);
}
