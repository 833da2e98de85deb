import { describe, expect, it } from '@jest/globals';
import { asyncScheduler, EMPTY, timer } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { RunResult, StreamEvent } from '../../../lib/core/event.js';
import { completeLog, continueLog, stateAtEnd } from '../../../lib/service/runs/continueLog.js';
import { memoryLog } from '../../../lib/service/stores/memory/memoryLog.js';
import type { SeenTurns } from '../../../lib/service/runs/replayRecord.js';
import type { RunRecord } from '../../../lib/service/ports/runStore.js';
import { observe } from '../../support/observe.js';

const record: RunRecord = { id: 'r', owner: '', state: 'running', updated: 0, attempt: 2, input: [] };
const message = { type: 'message', message: { role: 'model', parts: [] } };
const turn = { type: 'turn', turn: 1, finishReason: 'toolCalls', usage: { input: 3 } };
const thinking = (text: string) => ({ type: 'thinking', text });
const retry = { type: 'retry', attempt: 3, error: {} };
const retract = (attempt: number) => ({ type: 'retract', attempt });

/** A log that has these events of a run. */
function logOf(...events: readonly object[]) {
  const log = memoryLog();
  observe(log.append('r', 1, events as readonly StreamEvent[]));
  return log;
}

/** What a log has of the complete turns of a run, and the events that continue it. */
function continued(...events: readonly object[]) {
  const log = logOf(...events);
  observe(log.end('r', 1));
  const seen: SeenTurns[] = [];
  const { values } = observe(continueLog(log, record, (turns) => (seen.push(turns), EMPTY)));
  return { seen, values };
}

describe('the log of a run that another process continues', () => {
  it('has its complete turns, without the turn that was interrupted', () => {
    const { seen, values } = continued(thinking('Hm.'), retry, message, turn, thinking('So, so.'), message);
    expect(values).toEqual([retract(3)]);
    expect(seen).toMatchObject([{ turns: 1, messages: 1, thinking: 3, usage: { input: 3 } }]);
  });

  it('has nothing of what an earlier process has retracted', () => {
    const { seen } = continued(thinking('Hm.'), turn, thinking('Lost.'), message, retract(2), thinking('So.'), turn);
    expect(seen).toMatchObject([{ thinking: 6, messages: 0, usage: { input: 6 } }]);
  });

  it('is read up to the beginning of the next attempt', () => {
    const { seen } = continued(message, turn, retract(3), message, turn);
    expect(seen).toMatchObject([{ messages: 1, usage: { input: 3 } }]);
  });

  it('is completed with the result of the record, and its checkpoint', () => {
    const log = logOf(message, turn);
    observe(log.end('r', 1));
    const result = { thinking: '', messages: [], turns: 1, finishReason: 'waiting', usage: {} } as unknown as RunResult;
    const checkpoint = { open: undefined, state: { turn: 0 } } as unknown as NonNullable<RunRecord['checkpoint']>;
    const waiting: RunRecord = { ...record, state: 'waiting', result, checkpoint };
    const { events, state } = completeLog(log, { record: waiting, version: 1 });
    const controls = {} as Parameters<typeof events>[0];
    expect(state).toBe('waiting');
    expect(observe(events(controls)).values).toEqual([
      retract(3),
      { type: 'result', result: { ...result, checkpoint } },
    ]);
  });
});

describe('the end of a log', () => {
  it.each([
    [0, true, 0],
    [1200, true, 1500],
    [9000, false, 2500],
  ])('that is written after %i ms: %s', (endsAt, expected, knownAt) => {
    const seen: unknown[] = [];
    new TestScheduler(() => undefined).run(({ flush }) => {
      const log = logOf(message);
      const end = () => observe(log.end('r', 1));
      if (endsAt === 0) end();
      else timer(endsAt).subscribe(end);
      const messages = observe(log.messages('r'));
      stateAtEnd(log, 'r').subscribe((state) => seen.push(state?.hasEnded, asyncScheduler.now()));
      flush();
      expect(messages.values).toEqual([]); // no message is sent to find the end
    });
    expect(seen).toEqual([expected, knownAt]);
  });

  it('of a run that was removed is not waited for', () => {
    const log = logOf(message);
    expect(observe(stateAtEnd(log, 'other'))).toMatchObject({ values: [undefined], completed: true });
  });
});
