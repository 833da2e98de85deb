import { asyncScheduler, concat, concatMap, defer, map, of, onErrorResumeNext, take } from 'rxjs';
import type { Observable } from 'rxjs';
import type { RunResult } from '../../core/event.js';
import { answerOf } from '../../core/message.js';
import type { RunMessage } from '../ports/runLog.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import type { Kernel } from '../kernel.js';
import { completeLog } from './continueLog.js';

/** It may wait long for a worker. An open turn's calls must be answered, which only a worker does. */
const stopQueued = <C>(kernel: Kernel<C>, id: string, owner: string): Observable<boolean> =>
  kernel.access.find(id, owner).pipe(
    concatMap((run) => {
      if (!run || !isQueued(run, kernel)) return of(false);
      const record = stopped(run.record);
      return defer(() => kernel.store.put(record, run.version)).pipe(
        take(1),
        concatMap((isDone) =>
          isDone
            ? kernel.launch(completeLog(kernel.log, { record, version: run.version + 1 })).pipe(map(() => true))
            : of(false),
        ),
      );
    }),
  );

export const tellRun = <C>(kernel: Kernel<C>, id: string, owner: string, message: RunMessage): Observable<boolean> => {
  const { durable } = kernel;
  const told = kernel.tell(id, owner, message);
  if (!durable || message.type !== 'stop') return told;
  const cancelled = concat(onErrorResumeNext(durable.cancel(id)), of(true));
  return stopQueued(kernel, id, owner).pipe(concatMap((isStopped) => (isStopped ? cancelled : told)));
};

const isQueued = <C>({ record }: StoredRun, { executor }: Kernel<C>): boolean =>
  ['running', 'parked'].includes(record.state) && !record.checkpoint?.open && executor.locate(record) === 'nowhere';

function stopped({ checkpoint, ...record }: RunRecord): RunRecord {
  const { text = '', thinking = '', messages = [], metadata } = checkpoint?.emitted ?? {};
  const { usage = {}, turn: turns = 0 } = checkpoint?.state ?? {};
  const content = { text, thinking, messages, answer: answerOf(messages), ...(metadata ? { metadata } : {}) };
  const result: RunResult = { ...content, output: undefined, finishReason: 'stopped', usage, turns };
  const { history: _, answers: __, ...rest } = record;
  return { ...rest, state: 'ended', updated: asyncScheduler.now(), executor: undefined, result };
}
