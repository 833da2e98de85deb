import { nanoid } from 'nanoid/non-secure';

let processId: string | undefined;
let count = 0;

/** No other run has it, in no process. It costs little, since every run has one. */
export function newRunId(): string {
  processId ??= nanoid();
  return `${processId}${(count++).toString(36)}`;
}
