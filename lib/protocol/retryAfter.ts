import { asyncScheduler } from 'rxjs';
import { isRecord } from '../core/json.js';

/**
 * How long a server asks to wait: `retry-after-ms` (OpenAI, Azure), `Retry-After` in seconds or as a date (RFC 9110, 10.2.3), or the
 * `retryDelay` in the details of Google's errors (google.rpc.RetryInfo). A date is measured by the clock of RxJS, which is virtual in its
 * `TestScheduler`.
 *
 * @param headers The answer's.
 * @param json Its body, parsed, where it is JSON.
 * @returns Milliseconds, at least 0; undefined when it asks for nothing that can be understood.
 */
export function retryAfter(headers: Headers, json?: unknown): number | undefined {
  return milliseconds(headers.get('retry-after-ms'), 1) ?? inSecondsOrDate(headers.get('retry-after')) ?? inDetails(json);
}

function milliseconds(text: string | null, factor: number): number | undefined {
  return text !== null && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Math.round(Number(text) * factor) : undefined;
}

function inSecondsOrDate(text: string | null): number | undefined {
  const seconds = milliseconds(text, 1000);
  if (seconds !== undefined || text === null || !/[A-Za-z]/.test(text)) return seconds;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - asyncScheduler.now());
}

function inDetails(json: unknown): number | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json;
  const error = isRecord(body) ? body['error'] : undefined;
  const details: readonly unknown[] = isRecord(error) && Array.isArray(error['details']) ? error['details'] : [];
  const delays = details.map((detail) => (isRecord(detail) && typeof detail['retryDelay'] === 'string' ? detail['retryDelay'] : ''));
  const delay = delays.map((text) => /^(\d+(?:\.\d+)?)s$/.exec(text)?.[1]).find((found) => found !== undefined);
  return milliseconds(delay ?? null, 1000);
}
