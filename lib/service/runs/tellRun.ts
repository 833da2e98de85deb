import { concat, concatMap, EMPTY, map, of, onErrorResumeNext, type Observable } from 'rxjs';
import type { RunResult } from '../../core/event.js';
import { answerOf } from '../../core/message.js';
import type { RunMessage } from '../ports/runLog.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';
import { followingId } from '../../transport/randomId.js';
import type { Client } from '../client.js';
import type { Kernel } from '../kernel.js';
import { completeLog } from './continueLog.js';
import { lastRun } from './lastRun.js';
import { isOpenRun } from './liveAnswers.js';
import { openRun, stopWaiting } from './openRun.js';
import { changeAtEnd } from './runEnd.js';

/** It may wait long for a worker. An open turn's calls must be answered, which only a worker does. */
const stopQueued = <C>(kernel: Kernel<C>, id: string, owner: string): Observable<boolean> =>
  kernel.access
    .update(id, owner, (record) => (record && isQueued(record, kernel) ? stopped(record) : undefined))
    .pipe(concatMap((run) => (run ? kernel.launch(completeLog(kernel.log, run)).pipe(map(() => true)) : of(false))));

/** Emits whether there is a run that the message concerns. A stop also ends one that nobody executes. */
export const tellRun = <C>(
  kernel: Kernel<C>,
  id: string,
  client: Client<C>,
  message: RunMessage,
): Observable<boolean> => {
  const { owner } = client;
  if (message.type !== 'stop') return kernel.tell(id, owner, message);
  const told = kernel.tell(id, owner, message, (run) => stopLeft(kernel, run, client));
  const { durable } = kernel;
  if (!durable) return told;
  const cancelled = concat(onErrorResumeNext(durable.cancel(id)), of(true));
  return stopQueued(kernel, id, owner).pipe(concatMap((isStopped) => (isStopped ? cancelled : told)));
};

/**
 * Continues a run that waits, or whose process has ended, and stops it before it does anything: its calls are
 * cancelled. The answer comes when its end is written, so that the stop survives this process. An answer may have
 * continued the run meanwhile, here or elsewhere: that run is told, too.
 */
const stopLeft = <C>(kernel: Kernel<C>, { record }: StoredRun, client: Client<C>): Observable<boolean> => {
  const stop = { type: 'stop' } as const;
  if (record.resumedBy !== undefined)
    return lastRun(kernel, record.resumedBy, client.owner).pipe(
      concatMap((last) => tellRun(kernel, last, client, stop)),
    );
  const isOpen = isOpenRun(record);
  if (!isOpen && record.state !== 'waiting') return EMPTY;
  const id = isOpen ? record.id : followingId(record.id);
  const opened = isOpen
    ? openRun(kernel, { id, client, body: {}, isStopped: true })
    : stopWaiting(kernel, record.id, client);
  return opened.pipe(
    concatMap(() => tellRun(kernel, id, client, stop)),
    concatMap((isKnown) => concat(kernel.runOf(id, client.owner)?.settled ?? EMPTY, of(isKnown))),
  );
};

const isQueued = <C>(record: RunRecord, { executor }: Kernel<C>): boolean =>
  ['running', 'parked'].includes(record.state) && !record.checkpoint?.open && executor.locate(record) === 'nowhere';

function stopped(record: RunRecord): RunRecord {
  const { emitted, state: { usage, turn: turns } = { usage: {}, turn: 0 } } = record.checkpoint ?? {};
  const { text = '', thinking = '', messages = [], metadata } = emitted ?? {};
  const content = { text, thinking, messages, answer: answerOf(messages), ...(metadata ? { metadata } : {}) };
  const result: RunResult = { ...content, output: undefined, finishReason: 'stopped', usage, turns };
  return { ...record, ...changeAtEnd(result, {}) };
}
