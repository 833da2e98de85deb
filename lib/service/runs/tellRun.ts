import { concat, concatMap, map, of, onErrorResumeNext } from 'rxjs';
import type { Observable } from 'rxjs';
import type { RunResult } from '../../core/event.js';
import { answerOf } from '../../core/message.js';
import type { RunMessage } from '../ports/runLog.js';
import type { RunRecord } from '../ports/runStore.js';
import type { Kernel } from '../kernel.js';
import { completeLog } from './continueLog.js';
import { changeAtEnd } from './recordChanges.js';

/** It may wait long for a worker. An open turn's calls must be answered, which only a worker does. */
const stopQueued = <C>(kernel: Kernel<C>, id: string, owner: string): Observable<boolean> =>
  kernel.access
    .update(id, owner, (record) => (record && isQueued(record, kernel) ? stopped(record) : undefined))
    .pipe(concatMap((run) => (run ? kernel.launch(completeLog(kernel.log, run)).pipe(map(() => true)) : of(false))));

export const tellRun = <C>(kernel: Kernel<C>, id: string, owner: string, message: RunMessage): Observable<boolean> => {
  const { durable } = kernel;
  const told = kernel.tell(id, owner, message);
  if (!durable || message.type !== 'stop') return told;
  const cancelled = concat(onErrorResumeNext(durable.cancel(id)), of(true));
  return stopQueued(kernel, id, owner).pipe(concatMap((isStopped) => (isStopped ? cancelled : told)));
};

const isQueued = <C>(record: RunRecord, { executor }: Kernel<C>): boolean =>
  ['running', 'parked'].includes(record.state) && !record.checkpoint?.open && executor.locate(record) === 'nowhere';

function stopped(record: RunRecord): RunRecord {
  const { text = '', thinking = '', messages = [], metadata } = record.checkpoint?.emitted ?? {};
  const { usage = {}, turn: turns = 0 } = record.checkpoint?.state ?? {};
  const content = { text, thinking, messages, answer: answerOf(messages), ...(metadata ? { metadata } : {}) };
  const result: RunResult = { ...content, output: undefined, finishReason: 'stopped', usage, turns };
  return { ...record, ...changeAtEnd(result, {}) };
}
