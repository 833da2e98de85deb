/** @jest-environment jsdom */
// jsdom resolves the `browser` condition of each dependency, and requires what it finds: an ESM-only file fails here.
const { lastValueFrom, toArray } = require('rxjs');
const { createAgent, tool } = require('rivulet');
const registry = require('rivulet/registry');
const { scriptedModel } = require('rivulet/testing');

test('an agent runs in jsdom, and a call without an id gets one', async () => {
  const clock = tool({ name: 'clock', description: 'The time.', execute: () => 'noon' });
  const fragment = { type: 'toolCallFragment', index: 0, name: 'clock', arguments: '{}' };
  const model = scriptedModel([[fragment], 'It is noon.']);
  const events = await lastValueFrom(
    createAgent({ model, tools: [clock] })
      .stream('What time is it?')
      .pipe(toArray()),
  );
  const call = events.find(({ type }) => type === 'toolCall');
  expect(call.id).toMatch(/^.{8,}$/);
  expect(events.at(-1).result.text).toContain('It is noon.');
  expect(registry.modelByName('ollama:qwen3').name).toBe('qwen3');
});
