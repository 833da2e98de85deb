import { describe, expect, it } from '@jest/globals';
import type { Checkpoint } from '../../../lib/core/checkpoint.js';
import { Subject } from 'rxjs';
import type { NestedEvent, RunResult, StreamEvent } from '../../../lib/core/event.js';
import { createInnerMessages } from '../../../lib/service/runs/innerMessages.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import {
  innerOfCheckpoint,
  messagesOfRecord,
  replayCheckpoint,
  replayRecord,
} from '../../../lib/service/runs/replayRecord.js';
import { seenBefore } from '../../../lib/service/runs/replayRecord.js';
import type { RunRecord } from '../../../lib/service/ports/runStore.js';
import { descriptionOf } from '../../../lib/service/runs/trustedDescription.js';
import { remoteRunError } from '../../../lib/transport/fromServerSentEvents.js';
import { observe } from '../../support/observe.js';

const said = (text: string): Message => ({ role: 'model', parts: [{ type: 'text', text }] });
const answered: Message = { role: 'user', parts: [{ type: 'toolResult', id: 'c1', name: 'look', result: 1 }] };
const prompt = userMessage('Hurry.');
const call = { id: 'c2', name: 'pay', arguments: {} };
const usage = { input: 3, output: 2 };
const result = {
  text: 'Done.',
  answer: 'Done.',
  thinking: 'Hmm.',
  output: undefined,
  messages: [said('Look.'), answered, prompt, said('Done.')],
  finishReason: 'stop',
  usage,
  turns: 2,
} as RunResult;
const record: RunRecord = { id: 'r', owner: '', state: 'ended', updated: 0, attempt: 1, input: [userMessage('Hi')] };
/** What a reader sees of the events: the texts, and the types of the others. */
const seenOf = (events: ReturnType<typeof replayRecord>) => {
  const { values, error } = observe(events);
  return [...values.map((event) => ('text' in event ? `${event.type} ${event.text}` : event.type)), error].filter(
    Boolean,
  );
};
const messages = ['text Look.', 'message', 'toolResult', 'message', 'message', 'text \nDone.', 'message'];

describe('the replay of a record', () => {
  it('has the events of the whole run, and one end for all turns', () => {
    const events = replayRecord({ ...record, result });
    expect(seenOf(events)).toEqual(['thinking Hmm.', ...messages, 'turn', 'result']);
    expect(observe(events).values.at(-2)).toEqual({ type: 'turn', turn: 2, finishReason: 'stop', usage });
  });

  it('has what the run that it resumes has not shown', () => {
    const events = replayRecord({ ...record, result, shown: 2, shownUsage: { input: 1 } });
    expect(seenOf(events)).toEqual(['message', 'text Done.', 'message', 'turn', 'result']);
    expect(observe(events).values.at(-2)).toMatchObject({ usage: { input: 2, output: 2 } });
  });

  it('has only the result for a reader that has all turns', () => {
    const seen = { ...seenBefore(record), turns: 2, messages: 4, thinking: 2 };
    expect(seenOf(replayRecord({ ...record, result }, seen))).toEqual(['thinking m.', 'result']);
  });

  it('has the calls that wait, and no end of the turn', () => {
    const waiting = [call, { ...call, id: 'inner', path: ['c2'] }];
    const waits = { ...result, messages: [said('Look.')], finishReason: 'waiting', waiting } as RunResult;
    const events = replayRecord({ ...record, state: 'waiting', result: waits });
    expect(seenOf(events)).toEqual(['thinking Hmm.', 'text Look.', 'message', 'toolWaiting', 'result']);
    expect(observe(events).values).toContainEqual({ type: 'toolWaiting', ...call });
  });

  it('has the messages before a failure, and its description', () => {
    const error = { code: 'own', message: 'Own words.', retryable: false };
    const failure = { messages: [said('Look.'), answered], error };
    const failed = expect.objectContaining({ description: error }) as unknown;
    expect(seenOf(replayRecord({ ...record, failure }))).toEqual([...messages.slice(0, 4), failed]);
    expect(seenOf(replayRecord({ ...record, failure, shown: 2 }))).toEqual([failed]);
  });

  it('has the description of an error only if a process of this service has written it', () => {
    const description = { code: 'own', message: 'Own words.', retryable: false };
    const { error } = observe(replayRecord({ ...record, failure: { messages: [], error: description } }));
    expect(descriptionOf(error)).toBe(description);
    for (const foreign of [new Error('no'), remoteRunError(description), 'no', null, undefined])
      expect(descriptionOf(foreign)).toBeUndefined();
  });

  it('is the error of an unknown run if the record has neither', () => {
    expect(observe(replayRecord(record)).error).toMatchObject({ code: 'run_not_found' });
  });
});

describe('the replay of a checkpoint', () => {
  const open = {
    messages: [{ role: 'model', parts: [{ type: 'toolCall', ...call }] }],
    waiting: [call],
    results: [{ type: 'toolResult', id: 'c1', name: 'look', result: 1 }],
    nested: {
      c2: {
        state: { turn: 1, usage },
        emitted: { messages: [said('Inner.')] },
        open: { messages: [], waiting: [{ ...call, id: 'i' }] },
      },
    },
  };
  const checkpoint = (more: object = {}) =>
    ({
      state: { turn: 1, usage },
      emitted: { thinking: 'Hmm.', messages: [said('Look.'), answered] },
      ...more,
    }) as unknown as Checkpoint;
  const start = ['thinking Hmm.', ...messages.slice(0, 4), 'turn'];

  it('ends with the end of its turn', () => {
    const events = replayCheckpoint(checkpoint(), seenBefore(record));
    expect(seenOf(events)).toEqual(start);
    expect(observe(events).values.at(-1)).toEqual({ type: 'turn', turn: 1, finishReason: 'toolCalls', usage });
  });

  it('has the results of an open turn, the calls that wait, and the inner runs', () => {
    const { values } = observe(replayCheckpoint(checkpoint({ open }), seenBefore(record)));
    const nested = (event: object) => ({ type: 'nested', id: 'c2', name: 'pay', event });
    expect(values.slice(start.length)).toEqual([
      open.results[0],
      { type: 'toolWaiting', ...call },
      nested({ type: 'text', text: 'Inner.' }),
      nested({ type: 'message', message: said('Inner.') }),
      nested({ type: 'turn', turn: 1, finishReason: 'toolCalls', usage }),
      nested({ type: 'toolWaiting', ...call, id: 'i' }),
    ]);
  });

  it('names each inner run by its call, and has those that are between two turns', () => {
    const calls = ['c2', 'c3'].map((id) => ({ type: 'toolCall', id, name: `ask ${id}`, arguments: {} }));
    const inner = { state: { turn: 0 }, emitted: { messages: [said('Inner.')] } };
    const two = { messages: [{ role: 'model', parts: calls }], waiting: [], nested: { c2: inner, c3: inner } };
    const { values } = observe(replayCheckpoint(checkpoint({ open: two }), seenBefore(record)));
    const names = values.slice(start.length).map((event) => (event.type === 'nested' ? event.name : event.type));
    expect(names).toEqual(['ask c2', 'ask c2', 'ask c3', 'ask c3']);
  });

  it.each([
    ['a decision', { decisions: { c2: { approve: true } } }],
    ['a result', { results: { c2: 1 } }],
    ['an error', { errors: { c2: 'no' } }],
  ])('does not announce a call that has %s', (_, answers) => {
    const replay = replayCheckpoint(checkpoint({ open }), seenBefore(record), { answers });
    expect(seenOf(replay)).not.toContain('toolWaiting');
  });

  it('announces a call whose answer is that of another call', () => {
    const answers = { decisions: {}, results: { c3: 1 } };
    expect(seenOf(replayCheckpoint(checkpoint({ open }), seenBefore(record), { answers }))).toContain('toolWaiting');
  });

  it('has no thinking, and the whole inner runs, for a reader of the run that it resumes', () => {
    const emitted = { thinking: 'Hmm.', messages: [said('Look.'), answered, ...open.messages] };
    const decided = { decisions: { 'c2/i': { approve: true } } };
    const begun = ['toolStart', 'nested', 'nested', 'nested']; // it begins again
    for (const [answers, waiting] of [[undefined, ['nested']] as const, [decided, []] as const]) {
      const replay = replayCheckpoint(checkpoint({ open, emitted }), seenBefore({ shown: 3 }), { answers });
      expect(seenOf(replay)).toEqual(['turn', 'toolResult', 'toolWaiting', ...begun, ...waiting]);
    }
  });

  it('has the end of a turn with the number 0', () => {
    expect(seenOf(replayCheckpoint(checkpoint({ state: { turn: 0, usage } }), seenBefore(record)))).toEqual(start);
  });
});

describe('the messages of a record', () => {
  it('are the prompt, and those of the result or of the failure', () => {
    const failure = { messages: [said('Half.')], error: {} };
    expect(messagesOfRecord({ ...record, result })).toEqual([...record.input, ...result.messages]);
    expect(messagesOfRecord({ ...record, failure })).toEqual([...record.input, said('Half.')]);
    expect(messagesOfRecord(record)).toEqual(record.input);
  });
});

describe('the inner runs that have ended', () => {
  const nested = (id: string, event: object) => ({ type: 'nested', id, name: 'ask', event }) as NestedEvent;
  const inner = [
    nested('c1', { type: 'message', message: said('Inner.') }),
    nested('c1', nested('i1', { type: 'message', message: said('Innermost.') })),
    nested('c1', { type: 'turn', turn: 1, finishReason: 'stop', usage }),
    nested('c1', { type: 'result', result }),
    nested('c9', { type: 'message', message: said('Of a call without a result.') }),
  ];
  const shown = [
    nested('c1', { type: 'text', text: 'Inner.' }),
    inner[0],
    nested('c1', nested('i1', { type: 'text', text: 'Innermost.' })),
    inner[1],
    inner[2],
    inner[3],
    answered.parts[0],
  ];
  const [text, message, , ...rest] = [...messages];
  const expected = [text, message, 'nested', 'nested', 'nested', 'nested', 'nested', 'nested', 'toolResult', ...rest];

  it('are replayed before the results of their calls', () => {
    const values = observe(replayRecord({ ...record, result, inner })).values;
    expect(values.slice(3, 10)).toEqual(shown);
    expect(seenOf(replayRecord({ ...record, result, inner }))).toEqual([
      'thinking Hmm.',
      ...expected,
      'turn',
      'result',
    ]);
  });

  it('are replayed with a checkpoint, also those of its open turn', () => {
    const emitted = { thinking: '', messages: [said('Look.')] };
    const open = { messages: [said('Look.')], waiting: [], results: answered.parts };
    const checkpoint = { state: { turn: 0, usage }, emitted, open } as unknown as Checkpoint;
    const { values } = observe(replayCheckpoint(checkpoint, seenBefore(record), { inner }));
    expect(values.slice(3, 10)).toEqual(shown);
  });

  it('are those of the calls that have a result, without what a retract has voided', () => {
    const events = new Subject<StreamEvent>();
    const collected = createInnerMessages(inner.slice(0, 1));
    observe(collected.collect(events));
    const send = (...all: object[]) => all.forEach((event) => events.next(event as StreamEvent));
    send({ type: 'text', text: 'a' }, nested('c1', { type: 'text', text: 'b' }), inner[1] ?? {});
    send({ type: 'turn', turn: 1 }, inner[4] ?? {}, { type: 'retract' });
    expect(collected.all()).toEqual(inner.slice(0, 2));
    const checkpoint = { emitted: { messages: [answered] } } as unknown as Checkpoint;
    expect(innerOfCheckpoint({ inner, checkpoint })).toEqual(inner.slice(0, 4));
    expect(innerOfCheckpoint({ inner })).toEqual([]);
  });
});
