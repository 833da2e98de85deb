import { describe, expect, it } from '@jest/globals';
import { of } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { startState } from '../../lib/core/event.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import { userMessage } from '../../lib/core/message.js';
import type { OutputError } from '../../lib/core/runErrors.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import type { Orchestrator } from '../../lib/agent/orchestrator.js';
import { runTurns } from '../../lib/agent/runTurns.js';
import { turnCount } from '../../lib/agent/stopWhen.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import { typed } from '../../lib/agent/typed.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { add, city, json, native, nothing, oneAtATime, onlyTools } from './typedRun.js';

const usage = { input: 10, output: 5 };
const tooLong = 'Raise maxOutputTokens, or ask for a shorter output.';
const giveUp = (limit: string) =>
  `The model's text is in \`error.text\`. Simplify the schema, raise ${limit}, or use another model.`;
const peopleMissing = 'people: Invalid input: expected number, received undefined';
const wrong = '{"name":"Oslo"}';

/** The error of a run with typed output. */
function failureOf(script: Script<ScriptedRequest>, capabilities = native, options: Partial<AgentOptions> = {}) {
  const model = scriptedModel(script, { capabilities });
  const { error } = observe(createAgent({ model, output: typed(city), ...options }).stream('Oslo?'));
  return error;
}

describe('the error of a typed output', () => {
  it.each<[string, Script<ScriptedRequest>, object, Partial<AgentOptions>, string, string]>([
    [
      'a refusal',
      [['No.', { type: 'finish', reason: 'contentFilter', usage }]],
      native,
      {},
      'refused',
      'The response was refused or filtered: "No.". Rephrase the request.',
    ],
    [
      'a refusal without a text',
      [[{ type: 'finish', reason: 'contentFilter', usage }]],
      native,
      {},
      'refused',
      'The response was refused or filtered. Rephrase the request.',
    ],
    [
      'a truncated output',
      [['{"na', { type: 'finish', reason: 'length', usage }]],
      native,
      {},
      'length',
      `The output was cut off by the token limit. ${tooLong}`,
    ],
    [
      'a refusal in the first phase',
      [['No.', { type: 'finish', reason: 'contentFilter', usage }]],
      oneAtATime,
      { tools: [add] },
      'refused',
      'The response was refused or filtered: "No.". Rephrase the request.',
    ],
    [
      'a first phase that has used all turns',
      () => ['Hm.', { type: 'finish', reason: 'stop', usage }],
      oneAtATime,
      { tools: [add], maxTurns: 1 },
      'maxTurns',
      'The run reached maxTurns (1) without producing an output. Raise maxTurns.',
    ],
    [
      'an invalid output without an attempt to repair it',
      () => [wrong, { type: 'finish', reason: 'stop', usage }],
      native,
      { maxRepairs: 0 },
      'invalid',
      `The output is not valid: ${peopleMissing}. ${giveUp('maxRepairs')}`,
    ],
    [
      'an invalid output after one attempt',
      () => [wrong, { type: 'finish', reason: 'stop', usage }],
      native,
      { maxRepairs: 1 },
      'invalid',
      `The output is not valid after 1 repair attempt: ${peopleMissing}. ${giveUp('maxRepairs')}`,
    ],
    [
      'an invalid output after two attempts',
      () => [wrong, { type: 'finish', reason: 'stop', usage }],
      nothing,
      {},
      'invalid',
      `The output is not valid after 2 repair attempts: ${peopleMissing}. ${giveUp('maxRepairs')}`,
    ],
    [
      'an invalid output in the last turn',
      () => [wrong, { type: 'finish', reason: 'stop', usage }],
      native,
      { maxTurns: 1 },
      'invalid',
      `The output is not valid: ${peopleMissing}. ${giveUp('maxTurns')}`,
    ],
    [
      'a text in place of return_result',
      () => ['Oslo.', { type: 'finish', reason: 'stop', usage }],
      onlyTools,
      { maxRepairs: 0 },
      'invalid',
      `The output is not valid: it did not call return_result. ${giveUp('maxRepairs')}`,
    ],
    [
      'an invalid result of return_result',
      () => [toolCall('return_result', { name: 'Oslo' }), { type: 'finish', reason: 'stop', usage }],
      onlyTools,
      { maxRepairs: 0 },
      'invalid',
      `The output is not valid: Invalid result: ${peopleMissing}. ${giveUp('maxRepairs')}`,
    ],
  ])('says what happened and what to do: %s', (_, script, capabilities, options, reason, message) => {
    const error = failureOf(script, capabilities, options);
    expect(error).toMatchObject({ name: 'OutputError', code: 'output', reason, message });
    const turns = (error as OutputError).turn;
    expect(failedRunOf(error)).toMatchObject({ turn: turns, usage: { input: 10 * turns, output: 5 * turns } });
  });

  it('reaches the model as feedback', () => {
    const model = scriptedModel([wrong, json], { capabilities: native });
    observe(createAgent({ model, output: typed(city) }).run('Oslo?'));
    expect(model.requests[1]?.messages.at(-1)).toEqual(
      userMessage(`Your reply is not valid: ${peopleMissing}. Send the complete, corrected result, and nothing else.`),
    );
  });

  it('reaches a model with return_result as the error of its call', () => {
    const model = scriptedModel([[toolCall('return_result', { name: 'Oslo' })], json], { capabilities: onlyTools });
    observe(createAgent({ model, output: typed(city) }).run('Oslo?'));
    expect(model.requests[1]?.messages.at(-1)?.parts).toMatchObject([
      {
        type: 'toolResult',
        error: `Invalid result: ${peopleMissing}. Call return_result again with the complete, corrected result.`,
      },
    ]);
  });
});

describe('the error of a run', () => {
  it.each<[string, () => Observable<StreamEvent>, string, unknown]>([
    [
      'whose typed output the orchestrator does not support',
      () => createAgent({ model: scriptedModel(['Hi']), output: typed(city), orchestrator: toolLoop }).stream('Hi'),
      'output',
      'The orchestrator "toolLoop" returned no typed output. Build its turns on typedOutput, or omit `output`.',
    ],
    [
      'with a tool named return_result',
      () =>
        createAgent({
          model: scriptedModel([], { capabilities: onlyTools }),
          output: typed(city),
          tools: [tool({ name: 'return_result', description: '', execute: () => 1 })],
        }).stream('Hi'),
      'tools',
      'The tool name "return_result" is reserved for typed output. Rename the tool.',
    ],
    [
      'with a condition that is none',
      () => runTurns(() => of(), startState([]), { stopWhen: [turnCount(5), { name: 'x' } as never] }),
      'options',
      'stopWhen has {"name":"x"}, which is not a condition. ' +
        'Pass turnCount(5), toolCalled("submit") or another condition, or a function of the state.',
    ],
    [
      'whose prepareTurn returns no model',
      () =>
        createAgent({
          model: scriptedModel([]),
          prepareTurn: () => ({ model: {} as Model }),
        }).stream('Hi'),
      'model',
      expect.stringContaining('prepareTurn returned no model. Pass what'),
    ],
    [
      'with a schema that is none',
      () =>
        createAgent({ model: scriptedModel([], { capabilities: native }), output: typed({ a: z.string() }) }).stream(
          'Hi',
        ),
      'schema',
      expect.stringContaining('The output: the value is not a schema.'),
    ],
  ])('says what is wrong and what to do: a run %s', (_, run, subject, message) => {
    expect(observe(run()).error).toMatchObject({ code: 'configuration', subject, message });
  });

  it('names the model whose stream completes without a finish', () => {
    const unfinished = scriptedModel([of<Chunk>({ type: 'text', text: 'a' })], { provider: 'own', name: 'tiny' });
    const { error } = observe(createAgent({ model: unfinished }).stream('Hi'));
    expect(error).toMatchObject({
      code: 'stream_interrupted',
      provider: 'own',
      message: expect.stringContaining(
        'The stream of own:tiny completed without a `finish` chunk. A model emits exactly one, as its last chunk; ' +
          "in a test, add { type: 'finish', reason: 'stop' }.",
      ),
    });
  });

  it('names the reasons why a turn may end without a turn event', () => {
    expect(observe(runTurns(() => of(), startState([]))).error).toMatchObject({
      code: 'stream_interrupted',
      provider: 'unknown',
      message: expect.stringContaining(
        'The turn completed without a `turn` event. Its model was interrupted before `finish`, for example by ' +
          'takeUntil, or its orchestrator does not end with endTurn.',
      ),
    });
  });

  it('names the orchestrator that asks the model again in a resumed turn', () => {
    const ask = tool({ name: 'ask', description: '' });
    const make = (turn: Orchestrator['turn']) =>
      createAgent({
        model: scriptedModel(() => [toolCall('ask', {}, 'c')]),
        tools: [ask],
        orchestrator: { name: 'own', turn },
      });
    const [first] = observe(make((...turn) => toolLoop.turn(...turn)).run('Hi')).values;
    if (!first?.checkpoint) throw new Error('The run does not wait.');
    const forgetful = make((state, { resumed: _, ...context }) => toolLoop.turn(state, context));
    const { values, error } = observe(forgetful.resume(first.checkpoint, { results: { c: 1 } }));
    expect(values).toEqual([]);
    expect(error).toMatchObject({
      code: 'configuration',
      subject: 'checkpoint',
      message:
        'The orchestrator "own" did not resume the open calls of the checkpoint. ' +
        'Build its turns on toolLoop, typedOutput or twoPhase, and pass them the context that it receives.',
    });
  });
});
