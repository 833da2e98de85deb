import { describe, expect, it } from '@jest/globals';
import { from, of } from 'rxjs';
import { startState } from '../../lib/core/event.js';
import type { RunEvent, RunState, TurnEvent } from '../../lib/core/event.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import { followUp } from '../../lib/operators/followUp.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

const start: RunState = { ...startState([userMessage('Hi')]), turn: 1, usage: { input: 1 }, memo: { mine: 1 } };
const said = modelMessage('Hello');
const turn: TurnEvent = { type: 'turn', turn: 2, finishReason: 'stop', usage: { input: 2 }, next: null };
const events: RunEvent[] = [{ type: 'message', message: said }, turn];
const ask = (_: TurnEvent, after: RunState): RunState => ({
  ...after,
  messages: [...after.messages, userMessage('Sure?')],
});

describe('followUp', () => {
  it('followUp continues a run that would have ended', () =>
    diagram('followUp', ({ source }) => source.pipe(followUp(startState([]), ask))));

  it.each(operatorContract(followUp(start, ask), { source: events }))('followUp $title', ({ run }) => run());

  it('followUp passes the state after the turn to decide: messages, usage, memo', () => {
    const seen: RunState[] = [];
    observe(from(events).pipe(followUp(start, (_, after) => (seen.push(after), null))));
    expect(seen).toEqual([{ messages: [userMessage('Hi'), said], turn: 2, usage: { input: 3 }, memo: { mine: 1 } }]);
  });

  it('followUp keeps the turn event if decide returns its next, and emits only new messages', () => {
    const { values } = observe(from(events).pipe(followUp(start, ({ next }) => next ?? null)));
    expect(values).toEqual(events);
  });

  it('followUp reports maxTurns on the last turn, without a new message', () => {
    const { values } = observe(from(events).pipe(followUp(start, ask, { last: true })));
    expect(values).toEqual([events[0], { ...turn, finishReason: 'maxTurns' }]);
  });

  it('followUp reports an exception of decide as an error', () => {
    const broken = () => {
      throw new Error('undecided');
    };
    expect(observe(from(events).pipe(followUp(start, broken))).error).toEqual(new Error('undecided'));
  });

  it('followUp drops the messages of a retracted attempt', () => {
    const seen: RunState[] = [];
    observe(
      from<RunEvent[]>([{ type: 'message', message: modelMessage('void') }, { type: 'retract' }, ...events]).pipe(
        followUp(start, (_, after) => (seen.push(after), null)),
      ),
    );
    expect(seen[0]?.messages).toEqual([userMessage('Hi'), said]);
  });

  it('followUp does not continue a turn that was stopped', () => {
    const stopped: RunEvent[] = [
      { type: 'message', message: said },
      { ...turn, finishReason: 'stopped' },
    ];
    expect(observe(from(stopped).pipe(followUp(start, ask))).values).toEqual(stopped);
  });

  it('followUp reports stopped after a stop, without a new message', () => {
    const { values } = observe(from(events).pipe(followUp(start, ask, { stop: of(true) })));
    expect(values).toEqual([events[0], { ...turn, finishReason: 'stopped' }]);
  });
});
