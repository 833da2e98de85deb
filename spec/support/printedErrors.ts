import { afterAll, beforeAll } from '@jest/globals';

/** For a file whose services have no `onError`, and fail on purpose: they print their errors. */
export function ignorePrintedErrors(): void {
  const { error } = console;
  beforeAll(() => void (console.error = () => undefined));
  afterAll(() => void (console.error = error));
}
