/** V8 stores most texts with one byte for each character. */
export function estimateSize(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return 0; // not JSON (a bigint, a cycle): reading it fails
  }
}
