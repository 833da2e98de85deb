import { asyncScheduler, defer, finalize, ReplaySubject, switchMap, take, using } from 'rxjs';
import type { EnterRun } from './executeStored.js';

/** Milliseconds: what ends a process does so earlier, as a rule. */
const ALONE_TIME = 30_000;

/** Lets in runs in their order, and one that may end the process only when no other is inside. */
export function createDoor(): EnterRun & { readonly inside: () => number } {
  const waiting: { readonly isAlone: boolean; readonly enter: () => void }[] = [];
  let inside = 0;
  let isClosed = false;
  const open = () => {
    for (let [first] = waiting; first && !isClosed && !(first.isAlone && inside > 0); [first] = waiting) {
      waiting.shift();
      inside += 1;
      isClosed = first.isAlone;
      first.enter();
    }
  };
  const enterRun: EnterRun = (isAlone, run) =>
    defer(() => {
      const entered = new ReplaySubject<void>(1);
      const visitor = { isAlone, enter: () => entered.next() };
      let keepsOut = isAlone;
      const letIn = () => {
        if (keepsOut) isClosed = false;
        keepsOut = false;
        open();
      };
      const leave = () => {
        const index = waiting.indexOf(visitor);
        if (index >= 0) waiting.splice(index, 1);
        else inside -= 1;
        if (index < 0) letIn();
      };
      const watch = () => (isAlone ? asyncScheduler.schedule(letIn, ALONE_TIME) : undefined);
      waiting.push(visitor);
      open();
      return entered.pipe(
        take(1),
        switchMap(() => using(watch, () => run(letIn))),
        finalize(leave),
      );
    });
  return Object.assign(enterRun, { inside: () => inside });
}
