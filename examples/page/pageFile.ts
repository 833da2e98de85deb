import { createHash } from 'node:crypto';

/** A file that a browser can request. */
export interface PageFile {
  readonly type: string;
  readonly body: string | Uint8Array;
}

/**
 * The headers of a file. The page runs its own scripts only, talks to its own service only, and no other page can show
 * it in a frame: otherwise a click there could approve a call.
 */
export function headersOf({ type, body }: PageFile): Readonly<Record<string, string>> {
  const headers = { 'content-type': type, 'x-content-type-options': 'nosniff' };
  if (!type.startsWith('text/html')) return headers;
  const inline = [...String(body).matchAll(/<script[^>]*>([^]*?)<\/script>/g)].filter(([, script]) => script !== '');
  const hashes = inline.map(([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`);
  const policy = [
    "default-src 'self'",
    `script-src ${["'self'", ...hashes].join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ];
  return { ...headers, 'content-security-policy': policy.join('; '), 'referrer-policy': 'no-referrer' };
}
