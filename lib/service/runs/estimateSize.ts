/** V8 stores most texts with one byte for each character. */
export function estimateSize(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch (thrown) {
    // Not JSON (a bigint, a cycle, too deep): reading it fails.
    if (!(thrown instanceof RangeError) || thrown.message.includes('stack')) return 0;
    return 2 ** 40; // its text is too long: above all limits, and finite, since sizes are subtracted
  }
}
