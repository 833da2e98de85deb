import { afterEach, describe, expect, it } from '@jest/globals';
import { delay, firstValueFrom, lastValueFrom, ReplaySubject, Subject, takeUntil, tap, timer, toArray } from 'rxjs';
import { createAgent, openaiChat, retryModel, tool } from 'rivulet';
import type { Agent, RunEvent } from 'rivulet';
import { drawRun, readRecording, recordFetch, recordRun, replayRun, writeSpec } from 'rivulet/recording';
import { inVirtualTime, toolCall } from 'rivulet/testing';
import type { Step } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';
import * as z from 'zod';
import { runSpec } from './runSpec.js';

const servers: LoopbackServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

const words = (text: string): readonly Step[] => text.split(/(?<= )/).flatMap((word) => [word, { delay: 2 }]);

/** A run over HTTP in real time, with a retry, an approval, parallel tools that are Promises, and a stop. */
async function recordOverHttp() {
  const server = await serveModel([
    [
      { delay: 20 },
      ...words('Let me look that up in three places. '),
      toolCall('weather', { city: 'Oslo' }),
      toolCall('weather', { city: 'Atlantis' }),
      toolCall('write', { path: 'notes.md' }),
    ],
    [...words('Oslo is at minus three '), { error: new Error('overloaded') }],
    [...words('Oslo is at minus three degrees, '), { delay: 5_000 }, 'and the rest of this answer is never read.'],
    'unused',
  ]);
  servers.push(server);
  const lines: string[] = [];
  const sink = (line: string) => void lines.push(line);
  const recorder = recordFetch({ sink });
  const model = openaiChat('gpt-6.1-terra', {
    baseUrl: server.urlFor('openai-chat'),
    apiKey: 'sk-live-0123456789abcdef',
    fetch: recorder.fetch,
  });
  // Each call ends 15 ms after another one: what happens in one millisecond has no order in a diagram.
  const written = new ReplaySubject<void>(1);
  const measured = new ReplaySubject<void>(1);
  const weather = tool({
    name: 'weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      await firstValueFrom((city === 'Atlantis' ? measured : written).pipe(delay(15)));
      measured.next();
      if (city === 'Atlantis') throw new Error('There is no weather for Atlantis.');
      return { celsius: -3 };
    },
  });
  const write = tool({
    name: 'write',
    description: 'Writes a file.',
    parameters: z.object({ path: z.string() }),
    needsApproval: true,
    execute: ({ path }) => {
      written.next();
      return `wrote ${path}`;
    },
  });
  const agent = createAgent({
    model: retryModel(model, { count: 1, delay: 25, when: () => true }),
    tools: [weather, write],
    toolConcurrency: Infinity,
    approve: async () => {
      await lastValueFrom(timer(10));
      return { approve: true };
    },
  }) as unknown as Agent;
  const asked = new Subject<void>();
  const stop = asked.pipe(delay(20)); // in a silence of the server, so that no text arrives in the same millisecond
  let hasRetried = false;
  const events = await lastValueFrom(
    recordRun(agent, sink)
      .stream('How cold is it in Oslo?', { stop })
      .pipe(
        tap((event) => {
          hasRetried ||= event.type === 'retry';
          if (hasRetried && event.type === 'text' && event.text.startsWith('degrees')) asked.next();
        }),
        toArray(),
      ),
  );
  return { events: events as readonly RunEvent[], lines };
}

describe('a run over HTTP', () => {
  it('a run with a retry, an approval, parallel tools and a stop is replayed to equal events in virtual time', async () => {
    const { events, lines } = await recordOverHttp();
    const types = events.map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['retract', 'retry', 'toolWaiting', 'toolResult']));
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'stopped' } });
    expect(lines.join('')).not.toContain('sk-live');

    const recording = readRecording(lines);
    const replayed = replayRun(recording);
    const { values } = inVirtualTime(() =>
      createAgent(replayed.agent).stream(replayed.input, replayed.options).pipe(takeUntil(replayed.left)),
    );
    expect(values.map(({ value }) => value)).toEqual(events);
    const times = values.map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(recording.exchanges.map(({ end }) => end)).toEqual(['whole', 'left', 'left']);
    expect(drawRun(recording)).toContain('data: {');
    expect(
      runSpec(writeSpec(recording, { fixture: './run.jsonl' }), { '/spec/run.jsonl': lines.join('\n') }),
    ).toHaveLength(1);
    expect(runSpec(writeSpec(recording))).toHaveLength(1);
  });
});
