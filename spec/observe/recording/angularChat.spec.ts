import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { delay, filter, lastValueFrom, Subject, take, tap, toArray } from 'rxjs';
import * as rivulet from 'rivulet';
import { anthropic, createAgent, hasToolResults, toolLoop } from 'rivulet';
import type { Agent, AgentOptions, RunEvent } from 'rivulet';
import { drawRun, readRecording, recordedEvent, recordFetch, recordRun, replayRun, writeSpec } from 'rivulet/recording';
import type { RunRecording } from 'rivulet/recording';
import { inVirtualTime, toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';
import { chatAgent } from '../../../examples/angular-chat/server/agent.js';
import { answerByRules } from '../../../examples/angular-chat/server/offline.js';
import { chatTools } from '../../../examples/angular-chat/server/tools.js';
import { runSpec } from './runSpec.js';

const prompt = 'Note how many primes there are below 1,000 and below 3,000.';

/** The stand-in of the example. It also saves a note, and its answer after the tools has a pause, for the stop. */
function serveExample(): Promise<LoopbackServer> {
  let requests = 0;
  return serveModel(
    ({ history }) => {
      const steps = answerByRules(history);
      return history.some(hasToolResults)
        ? [...steps.slice(0, 4), { delay: 10_000 }, ...steps.slice(4)]
        : [...steps, toolCall('save_note', { note: 'count primes' })];
    },
    { forRequest: () => (requests++ === 0 ? { status: 503, headers: { 'retry-after': '0' } } : undefined) },
  );
}

interface Recorded {
  readonly lines: readonly string[];
  readonly recording: RunRecording;
  /** The events of the run until it waits, and of the run that resumes it. */
  readonly events: readonly (readonly RunEvent[])[];
  readonly notes: string;
}

/** The example over HTTP in real time: a person approves the note, and stops the answer. */
async function recordExample(folder: string): Promise<Recorded> {
  const server = await serveExample();
  try {
    const lines: string[] = [];
    const sink = (line: string) => void lines.push(line);
    const { fetch } = recordFetch({ sink });
    const model = anthropic('claude-sonnet-5', {
      baseUrl: server.urlFor('anthropic'),
      apiKey: 'sk-ant-0123456789abcdef',
      fetch,
    });
    const notes = pathToFileURL(join(folder, 'notes.md'));
    const agent = recordRun(chatAgent(model, chatTools(notes)) as unknown as Agent, sink, { name: 'angular-chat' });

    const first = await lastValueFrom(agent.stream(prompt, { runId: 'the-id-of-the-run' }).pipe(toArray()));
    const { checkpoint, waiting = [] } = resultOf(first);
    if (!checkpoint) throw new Error('The run did not wait.');
    const decisions = Object.fromEntries(waiting.map(({ id }) => [id, { approve: true as const }]));
    const answered = new Subject<void>();
    const second = await lastValueFrom(
      agent.resume(checkpoint, { decisions, stop: answered.pipe(take(1), delay(20)) }).pipe(
        tap(({ type }) => {
          if (type === 'text') answered.next();
        }),
        toArray(),
      ),
    );
    return { lines, recording: readRecording(lines), events: [first, second], notes: await readFile(notes, 'utf8') };
  } finally {
    await server.close();
  }
}

function resultOf(events: readonly RunEvent[]) {
  const last = events.at(-1);
  if (last?.type !== 'result') throw new Error('The run has no result.');
  return last.result;
}

/** A library whose turns lose the results of tools: the operators after `executeTools` do not see them. */
const broken = {
  ...rivulet,
  createAgent: (options: AgentOptions) =>
    createAgent({
      ...options,
      orchestrator: {
        ...toolLoop,
        turn: (state, context) => toolLoop.turn(state, context).pipe(filter(({ type }) => type !== 'toolResult')),
      },
    }),
};

describe('the Angular example over HTTP, with a retry, an approval, parallel tools and a stop', () => {
  let folder: string;
  let recorded: Recorded;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'angular-chat-'));
    recorded = await recordExample(folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('the recording has both halves of the conversation', () => {
    const [first = [], second = []] = recorded.events;
    expect(first.map(({ type }) => type)).toEqual(expect.arrayContaining(['retry', 'toolWaiting']));
    expect(first.at(-1)).toMatchObject({ result: { finishReason: 'waiting' } });
    const calls = first.flatMap((event) => (event.type === 'toolProgress' ? [event.id] : []));
    expect(calls.lastIndexOf(calls[0] ?? '')).toBeGreaterThan(calls.findIndex((id) => id !== calls[0])); // in parallel
    expect(second.at(-1)).toMatchObject({
      result: { finishReason: 'stopped', text: expect.stringContaining('Ther') },
    });
    expect(recorded.notes).toBe('- count primes\n');
    expect(recorded.recording.runs.map(({ end }) => end?.outcome)).toEqual(['completed', 'completed']);
  });

  it('the recording has neither the API key nor the id of the run', () => {
    const text = recorded.lines.join('');
    expect(text).toContain('"checkpoint"');
    expect(text).not.toContain('sk-ant');
    expect(text).not.toContain('the-id-of-the-run');
  });

  it.each([1, 2])('the drawing of run %i has lanes for its turns, requests and tools', (run) => {
    const page = drawRun(recorded.recording, { run });
    for (const lane of run === 1 ? ['count_primes', 'save_note', 'retry'] : ['save_note', 'stop'])
      expect(page).toContain(lane);
  });

  it.each([1, 2])('replayRun repeats run %i with equal events in virtual time', (run) => {
    const replayed = replayRun(recorded.recording, { run });
    const { values, end } = inVirtualTime(() => replayed.play(createAgent(replayed.agent)));
    expect(end).toBe('completed');
    expect(values.map(({ value }) => recordedEvent(value))).toEqual(recorded.events[run - 1]?.map(recordedEvent));
  });

  const specs = [1, 2].flatMap((run) =>
    (['jest', 'vitest', 'node'] as const).flatMap((runner) =>
      [
        { run, runner, fixture: './run.jsonl' },
        { run, runner },
      ].map((options) => ({
        ...options,
        kind: 'fixture' in options ? 'a fixture' : 'marble diagrams',
      })),
    ),
  );
  it.each(specs)(
    'the spec of run $run with $kind for $runner passes, and fails with a broken operator',
    (options) => {
      const text = writeSpec(recorded.recording, options);
      const files = { '/spec/run.jsonl': recorded.lines.join('\n') };
      expect(runSpec(text, files)).toHaveLength(1);
      expect(() => runSpec(text, files, broken)).toThrow(/equal/);
    },
    60_000,
  );
});
