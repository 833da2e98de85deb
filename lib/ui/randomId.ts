/**
 * Creates an id that nobody can guess: 128 random bits, as 32 hexadecimal digits. `crypto.randomUUID` would not work on
 * pages without HTTPS.
 */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
