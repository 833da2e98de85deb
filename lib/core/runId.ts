import { nanoid } from 'nanoid/non-secure';

let processId: string | undefined;
let count = 0;

/** Returns an id that no other run has, in no process. It costs little, since every run has one. */
export function newRunId(): string {
  processId ??= nanoid();
  return `${processId}${(count++).toString(36)}`;
}
