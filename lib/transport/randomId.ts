/** 128 bits. `crypto.randomUUID` would not work on pages without HTTPS. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The same in all tabs: the first request starts the run, the others join it. Only who knows `id` can tell it. */
export function followingId(id: string, count = 1): string {
  const last = Number.parseInt(id.slice(-8), 16);
  return id.slice(0, -8) + ((last + count) % 2 ** 32).toString(16).padStart(8, '0');
}

/** 128 bits, with or without the hyphens of a UUID. */
export const isUnguessable = (id: unknown): id is string =>
  typeof id === 'string' && /^[0-9a-f-]{32,36}$/i.test(id) && id.replaceAll('-', '').length === 32;
