/** A value as a list: an array as it is, nothing as an empty one, anything else alone. Servers send one object where a list is documented. */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** A data URL taken apart, or undefined when it is none in base64. */
export function parseDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(',');
  const [mediaType, ...attributes] = url.slice('data:'.length, Math.max(comma, 0)).split(';');
  if (comma < 0 || !attributes.some((attribute) => attribute.trim().toLowerCase() === 'base64')) return undefined;
  return { mediaType: mediaType === undefined || mediaType === '' ? 'text/plain' : mediaType, data: url.slice(comma + 1) };
}
