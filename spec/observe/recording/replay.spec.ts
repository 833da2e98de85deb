import { describe, expect, it } from '@jest/globals';
import {
  concat,
  concatMap,
  firstValueFrom,
  lastValueFrom,
  map,
  Subject,
  takeUntil,
  timer,
  toArray,
  VirtualTimeScheduler,
} from 'rxjs';
import { askTool, createAgent, failedRunOf, tool, userMessage } from 'rivulet';
import type { Agent, Approve, Model } from 'rivulet';
import { readRecording, record, replay, replayEvents, replayRun } from 'rivulet/recording';
import type { RunRecording, RunReplay } from 'rivulet/recording';
import { inVirtualTime, scriptedModel, toolCall } from 'rivulet/testing';
import type { Script, ScriptedRequest } from 'rivulet/testing';
import * as z from 'zod';
import { busyAgent, recordVirtually, weather } from './runs.js';

const agentFor = ({ agent }: RunReplay): Agent => createAgent(agent);

/** Repeats a recorded run in virtual time. */
const repeat = (recording: RunRecording, options: Parameters<typeof replayRun>[1] = {}) =>
  inVirtualTime(() => {
    const replayed = replayRun(recording, options);
    return agentFor(replayed).stream(replayed.input, replayed.options).pipe(takeUntil(replayed.left));
  });

const agentOf = (script: Script<ScriptedRequest>, options: object = {}) =>
  createAgent({ model: scriptedModel(script), tools: [weather], ...options }) as unknown as Agent;

describe('replayRun', () => {
  it('replayRun repeats a run with parallel tools, a failure and a retry at the recorded times', () => {
    const { recording, played } = recordVirtually(busyAgent());
    expect(played.end).toBe('completed');
    expect(replayRun(recording).events).toEqual(played.values.map(({ at, value }) => ({ at, event: value })));
    expect(repeat(recording)).toEqual(played);
  });

  it('replayRun repeats a run that was stopped in the middle of a tool and of a text', () => {
    const { recording, played } = recordVirtually(busyAgent(), (agent) => agent.stream('Oslo?', { stop: timer(700) }));
    expect(played.values.at(-1)?.value).toMatchObject({ result: { finishReason: 'stopped' } });
    expect(repeat(recording)).toEqual(played);

    const inText = recordVirtually(busyAgent(), (agent) => agent.stream('Oslo?', { stop: timer(230) }));
    expect(inText.played.at).toBe(230);
    expect(repeat(inText.recording)).toEqual(inText.played);
  });

  it('replayRun repeats a run with a cancelled call, which continued', () => {
    const calls = ['Oslo', 'Lisbon'].map((city) => toolCall('weather', { city }, city));
    const cancel = timer(400).pipe(map(() => 'Lisbon'));
    const { recording, played } = recordVirtually(agentOf([calls, 'Done.'], { toolConcurrency: 2 }), (agent) =>
      agent.stream('Oslo?', { cancel }),
    );
    const results = played.values.flatMap(({ value }) => (value.type === 'toolResult' ? [value] : []));
    expect(results).toMatchObject([{ result: { celsius: -3 } }, { code: 'cancelled' }]);
    expect(repeat(recording)).toEqual(played);
  });

  it('replayRun repeats a run in which a call that waited for approve was cancelled', () => {
    const pay = tool({ name: 'pay', description: '', needsApproval: true, execute: () => 'paid' });
    const approve: Approve = () => timer(400).pipe(map(() => ({ approve: true })));
    const agent = agentOf([[toolCall('pay', {}, 'p1')], 'Done.'], { tools: [pay], approve });
    const cancel = timer(100).pipe(map(() => 'p1'));
    const { recording, played } = recordVirtually(agent, (recorded) => recorded.stream('Pay.', { cancel }));
    expect(played).toMatchObject({ end: 'completed', at: 100 });
    expect(repeat(recording)).toEqual(played);
  });

  it('replayRun repeats a run that was unsubscribed', () => {
    const { recording, played } = recordVirtually(busyAgent(), (agent) =>
      agent.stream('Oslo?').pipe(takeUntil(timer(300))),
    );
    expect(recording.runs[0]?.end?.outcome).toBe('unsubscribed');
    expect(repeat(recording)).toEqual(played);
  });

  it('replayRun repeats a run with a prompt and eager tools', () => {
    const { recording, played } = recordVirtually(
      agentOf([[{ delay: 100 }, toolCall('weather', { city: 'Oslo' }), { delay: 50 }, 'Wait.'], 'Cold.', 'Warm.'], {
        eagerTools: true,
      }),
      (agent) => {
        const prompts = new Subject<string>();
        timer(200).subscribe(() => prompts.next('And in Lisbon?'));
        return agent.stream('Oslo?', { prompts });
      },
    );
    expect(played.values.map(({ value }) => value.type)).toContain('toolProgress');
    expect(repeat(recording)).toEqual(played);
  });

  it('replayRun repeats approvals, denials with their reasons, and replaced arguments', () => {
    const write = tool({
      name: 'write',
      description: 'Writes a file.',
      parameters: z.object({ path: z.string() }),
      needsApproval: true,
      execute: ({ path }) => `wrote ${path}`,
    });
    const approve: Approve = ({ arguments: { path } }) =>
      timer(400).pipe(
        map(() => {
          if (path === 'b') return { approve: false, reason: 'not b' };
          return path === 'c' ? { approve: true, arguments: { path: 'd' } } : { approve: true };
        }),
      );
    const { recording, played } = recordVirtually(
      agentOf([['a', 'b', 'c'].map((path) => toolCall('write', { path })), 'Done.'], {
        tools: [write],
        approve,
        toolConcurrency: 2,
      }),
    );
    const results = played.values.flatMap(({ value }) => (value.type === 'toolResult' ? [value] : []));
    expect(results.map(({ result, error }) => result ?? error)).toEqual([
      'wrote a',
      'The user denied the call. Reason: not b',
      'wrote d',
    ]);
    expect(repeat(recording)).toEqual(played);
  });

  it('replayRun repeats a run that ends with a waiting call', () => {
    const location = tool({ name: 'location', description: 'The position of the user.' });
    const { recording, played } = recordVirtually(agentOf([[toolCall('location')]], { tools: [location] }));
    const withoutCheckpoint = played.values.map(({ at, value }) =>
      value.type === 'result'
        ? { at, value: { type: 'result', result: { ...value.result, checkpoint: undefined } } }
        : { at, value },
    );
    const again = repeat(recording).values.map(({ at, value }) =>
      value.type === 'result'
        ? { at, value: { type: 'result', result: { ...value.result, checkpoint: undefined } } }
        : { at, value },
    );
    expect(withoutCheckpoint.at(-1)).toMatchObject({ value: { result: { finishReason: 'waiting' } } });
    expect(again).toEqual(withoutCheckpoint);
  });

  it('replayRun repeats the answers of people, whose time does not count for a deadline', () => {
    const schema = z.object({ city: z.string() });
    const travel = askTool({
      name: 'travel',
      description: 'Books a journey.',
      execute: (_, { ask, once }) =>
        ask({ message: 'Where to?', schema, key: 'to' }).pipe(
          concatMap(({ city }) => once('book', () => timer(50).pipe(map(() => `booked ${city}`)))),
        ),
    });
    const answers = concat(
      timer(60_000).pipe(map(() => ({ results: { 'call_1_1/to': { city: 5 } } }))),
      timer(60_000).pipe(map(() => ({ results: { 'call_1_1/to': { city: 'Oslo' } } }))),
      timer(1_000).pipe(map(() => ({ decisions: { 'call_1_3/to': { approve: false, reason: 'Home.' } as const } }))),
    );
    const { recording, played } = recordVirtually(
      agentOf([[toolCall('travel'), toolCall('weather', { city: 'Oslo' }), toolCall('travel')], 'Done.'], {
        tools: [travel, weather],
        toolDeadline: 1_000,
      }),
      (agent) => agent.stream('Go.', { answers }),
    );
    const results = played.values.flatMap(({ at, value }) =>
      value.type === 'toolResult' ? [[at, value.id, value.result ?? value.error]] : [],
    );
    expect(results).toEqual([
      [300, 'call_1_2', { celsius: -3 }],
      [120_050, 'call_1_1', 'booked Oslo'],
      [121_000, 'call_1_3', 'The user denied the call. Reason: Home.'],
    ]);
    expect(repeat(recording)).toEqual(played);
  });

  it('replayRun repeats a run that ends with a question', () => {
    const travel = askTool({
      name: 'travel',
      description: 'Books a journey.',
      execute: (_, { ask }) => ask({ message: 'Where to?', schema: z.object({ city: z.string() }) }),
    });
    const { recording, played } = recordVirtually(agentOf([[toolCall('travel')]], { tools: [travel] }));
    const withoutCheckpoints = (run: typeof played) =>
      run.values.map(({ at, value }) =>
        value.type === 'result' ? [at, { ...value.result, checkpoint: undefined }] : [at, value],
      );
    expect(played.values.at(-1)).toMatchObject({
      value: { result: { waiting: [{ id: 'call_1_1/1', question: { message: 'Where to?' } }] } },
    });
    expect(withoutCheckpoints(repeat(recording) as typeof played)).toEqual(withoutCheckpoints(played));
  });

  it('replayRun repeats a failure with its name, its code and its message', () => {
    const failure = Object.assign(new Error('The server is busy.'), { code: 'http', retryable: false, status: 529 });
    const { recording, played } = recordVirtually(agentOf([['Hello', { delay: 20 }, { error: failure }]]));
    const again = repeat(recording);
    expect(again.values).toEqual(played.values);
    expect(again).toMatchObject({ end: 'failed', at: 20, error: { message: 'The server is busy.' } });
    expect(failedRunOf(again.error)?.text).toBe('Hello');
  });

  it('replayRun takes a fifth of the time at speed 5', () => {
    const { recording, played } = recordVirtually(busyAgent());
    expect(Math.round(repeat(recording, { speed: 5 }).at)).toBe(played.at / 5);
  });

  it('replayRun and replayEvents take the time of a scheduler', () => {
    const { recording, played } = recordVirtually(
      agentOf([[{ delay: 60 }, 'Hello', { delay: 40 }, 'World'], 'unused']),
    );
    const scheduler = new VirtualTimeScheduler();
    const replayed = replayRun(recording, { scheduler });
    const times: number[][] = [[], []];
    const types: string[][] = [[], []];
    const runs = [replayed.play(agentFor(replayed)), replayEvents(recording, { scheduler })];
    runs.forEach((events, index) =>
      events.subscribe(({ type }) => {
        times[index]?.push(Math.round(scheduler.now()));
        types[index]?.push(type);
      }),
    );
    expect(types).toEqual([[], []]);
    scheduler.flush();
    expect(times).toEqual([played.values.map(({ at }) => at), played.values.map(({ at }) => at)]);
    expect(types[0]).toEqual(types[1]);
  });

  it('replayRun does not wait at speed Infinity', async () => {
    const { recording, played } = recordVirtually(agentOf([[{ delay: 60_000 }, 'Hello'], 'unused']));
    const replayed = replayRun(recording, { speed: Infinity });
    const events = await lastValueFrom(agentFor(replayed).stream(replayed.input, replayed.options).pipe(toArray()));
    expect(events).toEqual(played.values.map(({ value }) => value));
  });

  it('replayRun fails for a run that the recording does not have', () => {
    const { recording } = recordVirtually(agentOf(['Hello']));
    expect(() => replayRun(recording, { run: 2 })).toThrow(
      'The recording has 1 runs, and this is run 2. Pass a number from 1 to 1.',
    );
    expect(() => replayRun(recording, { speed: 0 })).toThrow('speed is 0.');
  });
});

describe('replay', () => {
  const request = { messages: [userMessage('Hello')] };
  const chunksOf = (model: Model) => inVirtualTime(() => model.stream(request));

  function recordModel(script: Script<ScriptedRequest>, requests = 1) {
    const lines: string[] = [];
    const model = record(scriptedModel(script, { provider: 'p', name: 'm' }), (line) => lines.push(line));
    const played = Array.from({ length: requests }, () => chunksOf(model));
    return { played, recording: readRecording(lines) };
  }

  it('replay emits the chunks of each recorded request at their times', () => {
    const { played, recording } = recordModel(
      [
        [{ delay: 10 }, 'a', 'b', { delay: 5 }, 'c'],
        [toolCall('x'), { type: 'finish', reason: 'toolCalls' }],
      ],
      2,
    );
    const model = replay(recording);
    expect(model).toMatchObject({ provider: 'p', name: 'm' });
    expect([chunksOf(model), chunksOf(model)]).toEqual(played);
  });

  it('replay fails with the reason for a request that was not recorded', () => {
    const model = replay(recordModel(['Hello']).recording);
    chunksOf(model);
    expect(chunksOf(model).error).toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('The recording has 1 requests, and this is request 2.'),
    });
  });

  it('replay fails with a StreamInterruptedError where a recording was cut off', async () => {
    const lines: string[] = [];
    const model = record(scriptedModel(['Hello']), (line) => lines.push(line));
    await lastValueFrom(model.stream(request));
    const cut = readRecording(lines.filter((line) => !line.includes('requestEnd') && !line.includes('finish')));
    const replayed = replay(cut, { speed: Infinity });
    await expect(lastValueFrom(replayed.stream(request))).rejects.toMatchObject({ code: 'stream_interrupted' });
    await expect(firstValueFrom(replay(cut, { speed: Infinity }).stream(request))).resolves.toEqual({
      type: 'text',
      text: 'Hello',
    });
  });
});
