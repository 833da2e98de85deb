import { describe, expect, it } from '@jest/globals';
import { Subject, tap } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { RunEvent } from '../../lib/core/event.js';
import { typed } from '../../lib/agent/typed.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { add, city, json, oneAtATime, oslo, outputOf, run, textOf } from './typedRun.js';

describe('twoPhase', () => {
  const script: Script<ScriptedRequest> = [
    ['Let me see.', toolCall('add', { a: 1, b: 2 })],
    [toolCall('add', { a: 3, b: 4 })],
    'I know it now.',
    json,
  ];

  it('twoPhase sends tools until the model calls no tool, then the schema without tools', async () => {
    const seen = run(script, oneAtATime, { tools: [add] });
    expect(await outputOf(seen)).toEqual(oslo);
    expect(seen.model.requests.map(({ tools, output }) => [tools?.length ?? 0, output !== undefined])).toEqual([
      [1, false],
      [1, false],
      [1, false],
      [0, true],
    ]);
  });

  it('twoPhase reports the text of the first phase once as suppressedText, and does not store its last response', async () => {
    const seen = run(script, oneAtATime, { tools: [add] });
    expect(await textOf(seen)).toBe(json);
    const events = await seen.events;
    expect(events.filter((event) => event.type === 'metadata').map(({ metadata }) => metadata)).toEqual([
      { suppressedText: 'Let me see.' },
      { suppressedText: 'I know it now.' },
    ]);
    expect(JSON.stringify(seen.model.requests.at(-1)?.messages)).not.toContain('I know it now.');
  });

  it('twoPhase starts the second phase even after a response without calls, and after empty responses', async () => {
    expect(await outputOf(run(['No tool needed.', json], oneAtATime, { tools: [add] }))).toEqual(oslo);
    expect(
      await outputOf(run([[toolCall('add', { a: 1, b: 2 })], '', '', json], oneAtATime, { tools: [add] })),
    ).toEqual(oslo);
  });

  it('twoPhase requests repairs in the second phase', async () => {
    expect(await outputOf(run(['ok', '{}', json], oneAtATime, { tools: [add] }))).toEqual(oslo);
  });

  it('twoPhase does not report retracted text', async () => {
    const seen = run([['void', { type: 'retract' }, 'good'], json], oneAtATime, { tools: [add] });
    const events = await seen.events;
    expect(events.filter(({ type }) => type === 'metadata')).toEqual([
      { type: 'metadata', metadata: { suppressedText: 'good' } },
    ]);
    expect(events.find(({ type }) => type === 'turn')).toMatchObject({ metadata: { suppressedText: 'good' } });
    const refusal: Script<ScriptedRequest> = [
      ['void', { type: 'retract' }, 'I will not.', { type: 'finish', reason: 'contentFilter' }],
    ];
    await expect(run(refusal, oneAtATime, { tools: [add] }).events).rejects.toMatchObject({ text: 'I will not.' });
  });

  it('twoPhase fails if the model refused, or if no turn remains', async () => {
    const refused = run([['I will not.', { type: 'finish', reason: 'contentFilter' }]], oneAtATime, { tools: [add] });
    await expect(refused.events).rejects.toMatchObject({
      reason: 'refused',
      text: 'I will not.',
      orchestrator: 'twoPhase',
    });
    await expect(run(() => 'hm', oneAtATime, { tools: [add], maxTurns: 1 }).events).rejects.toMatchObject({
      reason: 'maxTurns',
    });
  });

  it('twoPhase ends a run that was stopped in its first phase', async () => {
    const seen = run([['Let', { type: 'finish', reason: 'stopped' }], json], oneAtATime, { tools: [add] });
    expect((await seen.events).at(-1)).toMatchObject({ result: { finishReason: 'stopped', output: undefined } });
    expect(seen.model.requests).toHaveLength(1);
  });

  it('twoPhase keeps the messages with calls and with results in the history, and in the result', async () => {
    const seen = run(script, oneAtATime, { tools: [add] });
    const last = (await seen.events).at(-1);
    const messages = last?.type === 'result' ? last.result.messages : [];
    expect(messages.map(({ role, parts }) => [role, ...parts.map(({ type }) => type)])).toEqual([
      ['model', 'text', 'toolCall'],
      ['user', 'toolResult'],
      ['model', 'toolCall'],
      ['user', 'toolResult'],
      ['model', 'text'],
    ]);
  });

  it('twoPhase fails without a text if a refusal has none', async () => {
    const refused = run([[{ type: 'finish', reason: 'contentFilter' }]], oneAtATime, { tools: [add] });
    await expect(refused.events).rejects.toMatchObject({ reason: 'refused', text: '' });
  });

  it('twoPhase ends a run that is stopped at the end of its first phase, also if no turn remains', () => {
    const stop = new Subject<void>();
    const model = scriptedModel(['I know it.', json], { capabilities: oneAtATime });
    const agent = createAgent({ model, tools: [add], output: typed(city), maxTurns: 1 });
    const stopping = tap(({ type }: { readonly type: string }) => {
      if (type === 'metadata') stop.next();
    }) as MonoTypeOperatorFunction<RunEvent>;
    const { values, error } = observe((agent.stream('Oslo?', { stop }) as Observable<RunEvent>).pipe(stopping));
    expect(error).toBeUndefined();
    expect(values.at(-1)).toMatchObject({ result: { finishReason: 'stopped', turns: 1 } });
  });
});
