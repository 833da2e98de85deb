import { nanoid } from 'nanoid/non-secure';

let processId: string | undefined;
let count = 0;

/** No other run has this id, in no process. An id costs little, since every run has one. */
export function newRunId(): string {
  processId ??= nanoid();
  return `${processId}${(count++).toString(36)}`;
}
