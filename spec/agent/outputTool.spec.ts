import { describe, expect, it } from '@jest/globals';
import * as z from 'zod';
import { startState } from '../../lib/core/event.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import type { TurnOptions } from '../../lib/agent/orchestrator.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { typedOutput } from '../../lib/agent/typedOutput.js';
import { observe } from '../support/observe.js';
import { add, city, json, onlyTools, oslo, outputOf, run, textOf } from './typedRun.js';

describe('outputTool', () => {
  it('outputTool forces return_result, hides it, and streams its arguments as text', async () => {
    const seen = run(
      [
        [
          { type: 'toolCallFragment', index: 0, id: 'c1', name: 'return_result', arguments: '{"name":' },
          { type: 'toolCallFragment', index: 0, arguments: '"Oslo","people":700000}' },
        ],
      ],
      onlyTools,
    );
    expect(await outputOf(seen)).toEqual(oslo);
    expect((await seen.events).map((event) => (event.type === 'text' ? event.text : event.type))).toEqual([
      '{"name":',
      '"Oslo","people":700000}',
      'message',
      'message',
      'turn',
      'result',
    ]);
    expect(seen.model.requests[0]).toMatchObject({
      toolChoice: { name: 'return_result' },
      tools: [{ name: 'return_result' }],
    });
    expect(seen.model.requests[0]?.output).toBeUndefined();
  });

  it('outputTool runs all calls of the message, including other tools, and reports text once as suppressedText', async () => {
    const seen = run(
      [
        ['Hm.', toolCall('add', { a: 1, b: 2 })],
        ['So: ', toolCall('add', { a: 1, b: 1 }), toolCall('return_result', oslo)],
      ],
      onlyTools,
      { tools: [add] },
    );
    expect(await outputOf(seen)).toEqual(oslo);
    const events = await seen.events;
    expect(events.filter((event) => event.type === 'metadata').map(({ metadata }) => metadata)).toEqual([
      { suppressedText: 'Hm.' },
      { suppressedText: 'So: ' },
    ]);
    expect(await textOf(seen)).toBe(json);
    expect(
      events.filter(({ type }) => (type as string) === 'toolResult').map((event) => (event as { name?: string }).name),
    ).toEqual(['add', 'add']);
    expect(seen.model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', 'required']);
  });

  it('outputTool reports an invalid result to the model as an error, a limited number of times', async () => {
    const seen = run([[toolCall('return_result', { name: 'Oslo' })], [toolCall('return_result', oslo)]], onlyTools);
    expect(await outputOf(seen)).toEqual(oslo);
    expect(JSON.stringify(seen.model.requests[1]?.messages)).toContain('Invalid result: people');
    const endless = run(() => [toolCall('return_result', { name: 'Oslo' })], onlyTools);
    await expect(endless.events).rejects.toMatchObject({
      reason: 'invalid',
      text: '{"name":"Oslo"}',
      message: expect.stringContaining('people'),
    });
    expect(endless.model.requests).toHaveLength(3);
  });

  it('outputTool accepts JSON that was written as text, and requests a repair of other text', async () => {
    expect(await outputOf(run([json], onlyTools))).toEqual(oslo);
    expect(await outputOf(run(['Oslo is big.', [toolCall('return_result', oslo)]], onlyTools))).toEqual(oslo);
  });

  it('outputTool wraps a result that is not an object', async () => {
    const schema = z.array(z.string());
    const seen = run([[toolCall('return_result', { value: ['a', 'b'] })]], onlyTools, { output: typed(schema) });
    expect(await outputOf(seen)).toEqual(['a', 'b']);
    expect(await textOf(seen)).toBe('["a","b"]');
  });

  it('outputTool drops the text and the eagerly returned result of a retracted attempt', async () => {
    const fragment = { type: 'toolCallFragment', name: 'return_result', done: true } as const;
    const seen = run(
      [
        [
          'Void.',
          { ...fragment, id: 'void', arguments: '{"name":"Void","people":1}' },
          { type: 'retract' },
          toolCall('add', { a: 1, b: 2 }),
        ],
        [toolCall('return_result', oslo)],
      ],
      onlyTools,
      { tools: [add], eagerTools: true },
    );
    expect(await outputOf(seen)).toEqual(oslo);
    expect((await seen.events).filter(({ type }) => type === 'metadata')).toEqual([]);
  });

  it.each(['length', 'contentFilter'] as const)(
    'outputTool does not end with the result of a response that ends with %s, also if it was returned early',
    async (reason) => {
      const cut = [toolCall('return_result', oslo), { delay: 5 }, { type: 'finish', reason } as const];
      await expect(run([cut], onlyTools, { eagerTools: true }).events).rejects.toMatchObject({ name: 'OutputError' });
    },
  );

  it("outputTool rejects a user's tool with the name return_result", async () => {
    const shadow = tool({ name: 'return_result', description: '', execute: () => 1 });
    await expect(run([json], onlyTools, { tools: [shadow] }).events).rejects.toMatchObject({
      code: 'configuration',
      subject: 'tools',
    });
  });

  it('outputTool streams each result of a response without its wrapper', async () => {
    const result = (id: string, value: string) => toolCall('return_result', { value: [value] }, id);
    const seen = run([[result('1', 'a'), result('2', 'b')]], onlyTools, { output: typed(z.array(z.string())) });
    expect(await textOf(seen)).toBe('["a"]["b"]');
    expect(await outputOf(seen)).toEqual(['b']);
  });

  it('outputTool forwards fragments only if they are asked for, and none whose tool is not known yet', () => {
    const model = () =>
      scriptedModel(
        [
          [
            { type: 'toolCallFragment', index: 0, id: 'a' },
            { type: 'toolCallFragment', index: 0, name: 'add', arguments: '{"a":1,"b":2}' },
          ],
        ],
        { capabilities: onlyTools },
      );
    const fragmentsOf = (options: TurnOptions) =>
      observe(
        typedOutput.turn(startState([userMessage('Oslo?')]), { model: model(), tools: [add], options, output: city }),
      ).values.filter(({ type }: StreamEvent) => type === 'toolCallFragment');
    expect(fragmentsOf({})).toEqual([]);
    expect(fragmentsOf({ fragments: true })).toMatchObject([{ name: 'add', arguments: '{"a":1,"b":2}' }]);
  });
});
