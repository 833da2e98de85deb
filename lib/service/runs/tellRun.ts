import { concat, concatMap, defaultIfEmpty, filter, map, of, onErrorResumeNext, take, type Observable } from 'rxjs';
import type { RunResult } from '../../core/event.js';
import { answerOf } from '../../core/message.js';
import type { RunMessage } from '../ports/runLog.js';
import type { RunRecord } from '../ports/runStore.js';
import type { Client } from '../client.js';
import type { Kernel } from '../kernel.js';
import { completeLog } from './continueLog.js';
import { continueStopped } from './openRun.js';
import { changeAtEnd } from './runEnd.js';

/** It may wait long for a worker. An open turn's calls must be answered, which only a worker does. */
const stopQueued = <C>(kernel: Kernel<C>, id: string, owner: string): Observable<boolean> =>
  kernel.access
    .update(id, owner, (record) => (record && isQueued(record, kernel) ? stopped(record) : undefined))
    .pipe(concatMap((run) => (run ? kernel.launch(completeLog(kernel.log, run)).pipe(map(() => true)) : of(false))));

/** Emits whether there is a run that the message concerns. A stop also ends one that waits for answers. */
export const tellRun = <C>(
  kernel: Kernel<C>,
  id: string,
  client: Client<C>,
  message: RunMessage,
): Observable<boolean> => {
  const told = kernel.tell(id, client.owner, message);
  if (message.type !== 'stop' || kernel.runOf(id, client.owner)?.status === 'running') return told;
  return firstTrue([stopIfQueued(kernel, id, client.owner), stopWaiting(kernel, id, client), told]);
};

const firstTrue = (answers: readonly Observable<boolean>[]): Observable<boolean> =>
  concat(...answers).pipe(
    filter((isKnown) => isKnown),
    take(1),
    defaultIfEmpty(false),
  );

const stopIfQueued = <C>(kernel: Kernel<C>, id: string, owner: string): Observable<boolean> => {
  const { durable } = kernel;
  if (!durable) return of(false);
  const cancelled = concat(onErrorResumeNext(durable.cancel(id)), of(true));
  return stopQueued(kernel, id, owner).pipe(concatMap((isStopped) => (isStopped ? cancelled : of(false))));
};

/** A worker of a durable agent learns of the stop when it begins. */
const stopWaiting = <C>(kernel: Kernel<C>, id: string, client: Client<C>): Observable<boolean> =>
  continueStopped(kernel, id, client).pipe(
    concatMap((next) => (kernel.durable ? tellRun(kernel, next, client, { type: 'stop' }) : of(true))),
    defaultIfEmpty(false),
  );

const isQueued = <C>(record: RunRecord, { executor }: Kernel<C>): boolean =>
  ['running', 'parked'].includes(record.state) && !record.checkpoint?.open && executor.locate(record) === 'nowhere';

function stopped(record: RunRecord): RunRecord {
  const { text = '', thinking = '', messages = [], metadata } = record.checkpoint?.emitted ?? {};
  const { usage = {}, turn: turns = 0 } = record.checkpoint?.state ?? {};
  const content = { text, thinking, messages, answer: answerOf(messages), ...(metadata ? { metadata } : {}) };
  const result: RunResult = { ...content, output: undefined, finishReason: 'stopped', usage, turns };
  return { ...record, ...changeAtEnd(result, {}) };
}
