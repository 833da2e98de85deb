// asyncTool.spec.js
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { lastValueFrom, tap } from 'rxjs';
import { createAgent, tool } from 'rivulet';
import { scriptedModel, toolCall } from 'rivulet/testing';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('an agent answers with the result of an asynchronous tool', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    execute: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return 'a river';
    },
  });
  const model = scriptedModel([[{ delay: 200 }, toolCall('look')], 'I see a river.']);
  const types = [];
  const run = lastValueFrom(
    createAgent({ model, tools: [look] })
      .stream('Look.')
      .pipe(tap(({ type }) => types.push(type))),
  );

  await vi.advanceTimersByTimeAsync(499); // also lets Promises settle; advanceTimersByTime does not
  expect(types).not.toContain('toolResult');
  await vi.advanceTimersByTimeAsync(1);
  expect((await run).result.answer).toBe('I see a river.');
});
