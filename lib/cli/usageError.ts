import { isRecord } from '../core/json/json.js';

export class UsageError extends Error {}

/** Ours, or an error of `parseArgs`. */
export const isUsageError = (thrown: unknown): boolean =>
  thrown instanceof UsageError || (isRecord(thrown) && String(thrown['code']).startsWith('ERR_PARSE_ARGS'));
