import { concat, concatMap, map, of, onErrorResumeNext, type Observable } from 'rxjs';
import type { RunResult } from '../../core/event.js';
import { answerOf } from '../../core/message.js';
import type { RunMessage } from '../ports/runLog.js';
import type { RunRecord } from '../ports/runStore.js';
import type { Client } from '../client.js';
import type { Kernel } from '../kernel.js';
import { completeLog } from './continueLog.js';
import { stopLeft } from './openRun.js';
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
  const tellLast = (last: string) => tellRun(kernel, last, client, message);
  const told = kernel.tell(id, owner, message, (run) => stopLeft(kernel, run, client, tellLast));
  const { durable } = kernel;
  if (!durable) return told;
  const cancelled = concat(onErrorResumeNext(durable.cancel(id)), of(true));
  return stopQueued(kernel, id, owner).pipe(concatMap((isStopped) => (isStopped ? cancelled : told)));
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
