import { describe, expect, it } from '@jest/globals';
import { from } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { TextChunk, ThinkingChunk } from '../../lib/core/chunk.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import { tool } from '../../lib/core/tool.js';
import { ofType } from '../../lib/operators/ofType.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/index.js';
import { composedContract } from '../support/composedContract.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';

const events: readonly RunEvent[] = [
  { type: 'thinking', text: 'hm' },
  { type: 'text', text: 'a' },
  { type: 'turn', turn: 1, finishReason: 'stop' },
];

/** Compiles only if both types are the same. */
type Same<A, B> = [A, B] extends [B, A] ? true : false;
type Values<O> = O extends Observable<infer T> ? T : never;

describe('ofType', () => {
  it('ofType emits only the events of its types', () =>
    diagram('ofType', ({ source }: Streams<'source', RunEvent>) => source.pipe(ofType('toolCall', 'toolResult'))));

  it.each(composedContract(ofType<RunEvent, 'text' | 'turn'>('text', 'turn'), { source: events, passThrough: false }))(
    'ofType $title',
    ({ run }) => run(),
  );

  it('ofType emits the events themselves', () => {
    expect(observe(from(events).pipe(ofType('text'))).values[0]).toBe(events[1]);
  });

  it('ofType narrows the events to its types', () => {
    const untyped: Observable<StreamEvent> = from(events);
    const text$ = from(events).pipe(ofType('text'));
    const both$ = from(events).pipe(ofType('text', 'thinking'));
    const untyped$ = untyped.pipe(ofType('text'));
    const narrowed: [
      Same<Values<typeof text$>, TextChunk>,
      Same<Values<typeof both$>, TextChunk | ThinkingChunk>,
      Same<Values<typeof untyped$>, StreamEvent & { readonly type: 'text' }>,
    ] = [true, true, true];
    expect(narrowed).not.toContain(false);
    expect([observe(text$), observe(both$), observe(untyped$)].map(({ values }) => values.length)).toEqual([1, 2, 1]);
    // @ts-expect-error the run has no event of this type
    expect(observe(from(events).pipe(ofType('texts'))).values).toEqual([]);
    // @ts-expect-error without a type, nothing would be emitted
    expect(observe(from(events).pipe(ofType())).values).toEqual([]);
  });

  it('ofType keeps the types of the tools of an agent', () => {
    const weather = tool({ name: 'weather', description: 'The weather.', execute: () => ({ degrees: 5 }) });
    const agent = createAgent({ model: scriptedModel([[toolCall('weather')], 'Cold.']), tools: [weather] });
    const { values } = observe(agent.stream('Hi').pipe(ofType('toolResult')));
    const [result] = values;
    expect(result?.name === 'weather' && result.result?.degrees).toBe(5);
  });
});
