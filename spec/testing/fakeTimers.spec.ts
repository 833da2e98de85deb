import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { lastValueFrom, tap } from 'rxjs';
import { createAgent, tool } from 'rivulet';
import { scriptedModel, toolCall } from 'rivulet/testing';

describe('an agent with the fake timers of a test runner', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

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
    const types: string[] = [];
    const events$ = createAgent({ model, tools: [look] }).stream('Look.');
    const run = lastValueFrom(events$.pipe(tap(({ type }) => types.push(type))));

    await jest.advanceTimersByTimeAsync(499);
    expect(types).not.toContain('toolResult');
    await jest.advanceTimersByTimeAsync(1);
    await expect(run).resolves.toMatchObject({ result: { answer: 'I see a river.' } });
  });

  it('the guide shows the spec that Vitest runs (npm run package)', () => {
    const spec = readFileSync('spec/checks/package/consumers/fakeTimers.vitest.mjs', 'utf8');
    expect(readFileSync('docs/testing.md', 'utf8')).toContain(spec);
  });
});
