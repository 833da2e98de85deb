import { finalize, Observable, timer } from 'rxjs';
import type { EnterRun } from '../../runs/executeStored.js';

/** How long a run may keep the others out, in milliseconds: what ends its process does so earlier, as a rule. */
const ALONE_TIME = 30_000;

/** The door of a worker: lets in runs in their order, and one that may end the process only when no other is inside. */
export function createDoor(): EnterRun {
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
  return (isAlone, run) =>
    new Observable((out) => {
      let keepsOut = isAlone;
      const letIn = () => {
        if (!keepsOut) return;
        keepsOut = false;
        isClosed = false;
        open();
      };
      const leave = () => {
        inside -= 1;
        letIn();
        open();
      };
      const enter = () => {
        if (isAlone) out.add(timer(ALONE_TIME).subscribe(letIn));
        out.add(run(letIn).pipe(finalize(leave)).subscribe(out));
      };
      const visitor = { isAlone, enter };
      waiting.push(visitor);
      open();
      return () => {
        const index = waiting.indexOf(visitor);
        if (index >= 0) waiting.splice(index, 1);
      };
    });
}
