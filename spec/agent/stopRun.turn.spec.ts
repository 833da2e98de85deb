import { describe, expect, it } from '@jest/globals';
import { NEVER, Subject, concat, of } from 'rxjs';
import { repairHistory } from '../../lib/core/history.js';
import type { RunEvent } from '../../lib/core/event.js';
import { startState } from '../../lib/core/event.js';
import { filePart, modelMessage, userMessage } from '../../lib/core/message.js';
import { stopTurn } from '../../lib/agent/stopRun.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';
import { callOf, virtual } from '../support/toolCalls.js';

const state = startState([userMessage('Hi')]);
const text = (content: string): RunEvent => ({ type: 'text', text: content });
const message = (...parts: Parameters<typeof modelMessage>[0][]): RunEvent => ({
  type: 'message',
  message: modelMessage(parts.flat() as Parameters<typeof modelMessage>[0]),
});
const turn: RunEvent = { type: 'turn', turn: 1, finishReason: 'stop', next: null };
const stopped: RunEvent = { type: 'turn', turn: 1, finishReason: 'stopped', next: null };

/** What an orchestrator that emits these events, and then waits, emits after a stop. */
function afterStop(...events: readonly RunEvent[]): readonly RunEvent[] {
  let emitted: readonly RunEvent[] = [];
  virtual(({ cold, flush }) => {
    const log = observe(concat(of(...events), NEVER).pipe(stopTurn(state, cold('--a'))));
    flush();
    expect(log.completed).toBe(true);
    emitted = log.values.slice(events.length);
  });
  return emitted;
}

describe('stopTurn', () => {
  it.each(operatorContract(stopTurn(state, NEVER), { source: [text('a'), turn] }))('stopTurn $title', ({ run }) =>
    run(),
  );

  it('stopTurn ends a turn that has emitted nothing', () => expect(afterStop()).toEqual([stopped]));

  it('stopTurn adds the message with the content that is in no message, in order', () => {
    const call = callOf('look');
    const file = filePart(new Uint8Array([1]), 'image/png');
    const source = { type: 'source', url: 'https://example.com' } as const;
    expect(
      afterStop(text('a'), text('b'), { type: 'file', file }, text('c'), call, { type: 'source', source }),
    ).toEqual([
      message([{ type: 'text', text: 'ab' }, file, { type: 'text', text: 'c' }, call, source]),
      { type: 'toolResult', id: 'id-look', name: 'look', error: expect.any(String), code: 'not_executed' },
      { type: 'message', message: { role: 'user', parts: [expect.objectContaining({ code: 'not_executed' })] } },
      stopped,
    ]);
  });

  it('stopTurn answers the calls that are open, and keeps the results that exist', () => {
    const [done, running, waiting] = [callOf('done'), callOf('running'), callOf('waiting')];
    const result: RunEvent = { type: 'toolResult', id: 'id-done', name: 'done', result: 1 };
    const events = afterStop(
      message([done, running, waiting]),
      { type: 'toolStart', id: 'id-done', name: 'done', arguments: {} },
      { type: 'toolStart', id: 'id-running', name: 'running', arguments: {} },
      result,
    );
    expect(events).toMatchObject([
      { type: 'toolResult', id: 'id-running', code: 'cancelled' },
      { type: 'toolResult', id: 'id-waiting', code: 'not_executed' },
      { message: { parts: [result, { code: 'cancelled' }, { code: 'not_executed' }] } },
      stopped,
    ]);
    const results = events.flatMap((event) => (event.type === 'message' ? [event.message] : []));
    const history = [...state.messages, modelMessage([done, running, waiting]), ...results];
    expect(repairHistory(history)).toBe(history);
  });

  it('stopTurn repeats nothing that is in a message, and nothing that was retracted', () => {
    const results: RunEvent = {
      type: 'message',
      message: userMessage([{ type: 'toolResult', id: 'id-look', name: 'look', result: 1 }]),
    };
    expect(afterStop(text('a'), callOf('look'), message([callOf('look')]), results)).toEqual([stopped]);
    expect(afterStop(text('void'), callOf('look'), { type: 'retract' }, text('a'))).toEqual([
      message([{ type: 'text', text: 'a' }]),
      stopped,
    ]);
  });

  it('stopTurn merges the metadata of the turn', () => {
    const events = afterStop({ type: 'metadata', metadata: { a: 1 } }, { type: 'metadata', metadata: { b: 2 } });
    expect(events).toEqual([{ ...stopped, metadata: { a: 1, b: 2 } }]);
  });

  it('stopTurn lets no turn follow, but does not change a turn that ends the run', () => {
    const next = { ...turn, finishReason: 'paused', rawReason: 'pause_turn', next: state } as const;
    expect(observe(of<RunEvent>(next).pipe(stopTurn(state, of(1)))).values).toEqual([stopped]);
    expect(observe(of<RunEvent>({ ...turn, output: 1 }).pipe(stopTurn(state, of(1)))).values).toEqual([
      { ...turn, output: 1 },
    ]);
  });

  it('stopTurn unsubscribes the source before it emits', () => {
    virtual(({ flush, cold }) => {
      const source = new Subject<RunEvent>();
      const observed: boolean[] = [];
      source.pipe(stopTurn(state, cold('-a'))).subscribe(() => observed.push(source.observed));
      flush();
      expect(observed).toEqual([false]);
    });
  });

  it('stopTurn adds nothing to a turn that has ended, but does not complete', () => {
    expect(afterStop(turn)).toEqual([]);
  });

  it('stopTurn answers a call as cancelled whose inner run was resumed, which emits no start', () => {
    const call = callOf('research');
    const events = afterStop(message([call]), { type: 'nested', id: call.id, name: call.name, event: text('a') });
    expect(events[0]).toMatchObject({ type: 'toolResult', id: call.id, code: 'cancelled' });
  });

  it('stopTurn keeps the text that precedes a message of the user', () => {
    const guidance: RunEvent = { type: 'message', message: userMessage('Go on.') };
    expect(afterStop(text('a'), guidance, text('b'))).toEqual([message([{ type: 'text', text: 'ab' }]), stopped]);
  });
});
