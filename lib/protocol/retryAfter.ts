import { asyncScheduler } from 'rxjs';

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

function milliseconds(text: string | null | undefined, factor: number): number | undefined {
  return text && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Math.round(Number(text) * factor) : undefined;
}

function inSecondsOrDate(text: string | null): number | undefined {
  const seconds = milliseconds(text, 1000);
  if (seconds !== undefined || text === null || !/[A-Za-z]/.test(text)) return seconds;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - asyncScheduler.now());
}

/** Wherever it stands: a text that only speaks of it would have its quotes escaped. */
function inDetails(json: unknown): number | undefined {
  return milliseconds(/"retryDelay":"([^"]*)s"/.exec(JSON.stringify(json))?.[1], 1000);
}
