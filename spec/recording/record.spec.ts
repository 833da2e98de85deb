import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { config, from, lastValueFrom, NEVER, of, Subject, take, timer } from 'rxjs';
import { createAgent, userMessage } from 'rivulet';
import type { Agent, Chunk } from 'rivulet';
import { readRecording, record, recordRun } from 'rivulet/recording';
import type { RecordingEntry, RecordingOptions } from 'rivulet/recording';
import { inVirtualTime, scriptedModel, toolCall } from 'rivulet/testing';
import type { ScriptedOutput } from 'rivulet/testing';
import { busyAgent, recordVirtually, weather } from './runs.js';

const request = { messages: [userMessage('Hello')] };

/** The lines of a recorded request. */
function recordOutput(output: ScriptedOutput, options: RecordingOptions = {}): readonly string[] {
  const lines: string[] = [];
  inVirtualTime(() => record(scriptedModel([output]), (line) => lines.push(line), options).stream(request));
  return lines;
}

const entriesOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line) as RecordingEntry);
const typesOf = (lines: readonly string[]) => entriesOf(lines).map(({ type }) => type);

/** The text of the recorded deltas. */
const textIn = (lines: readonly string[]) =>
  entriesOf(lines)
    .flatMap((entry) => (entry.type === 'deltas' ? entry.texts : []))
    .join('');

describe('record', () => {
  it('record writes one line of JSON per entry, with deltas together and times in milliseconds', () => {
    const lines = recordOutput([{ delay: 20 }, 'a', { delay: 3 }, 'b', toolCall('x'), { delay: 5 }, 'c']);
    expect(entriesOf(lines)).toEqual([
      { type: 'recording', version: 1, at: 0, content: true },
      { type: 'start', kind: 'model', run: 1, at: 0 },
      {
        type: 'request',
        run: 1,
        request: 1,
        at: 0,
        model: { provider: 'scripted', name: 'scripted' },
        earlier: 0,
        messages: request.messages,
      },
      {
        type: 'deltas',
        of: 'chunk',
        run: 1,
        request: 1,
        at: 20,
        value: { type: 'text', text: '' },
        field: 'text',
        texts: ['a', 'b'],
        after: [0, 3],
      },
      { type: 'chunk', run: 1, request: 1, at: 23, value: { ...toolCall('x'), id: 'call_1_1' } },
      {
        type: 'deltas',
        of: 'chunk',
        run: 1,
        request: 1,
        at: 28,
        value: { type: 'text', text: '' },
        field: 'text',
        texts: ['c'],
        after: [0],
      },
      { type: 'chunk', run: 1, request: 1, at: 28, value: { type: 'finish', reason: 'toolCalls' } },
      { type: 'requestEnd', run: 1, request: 1, at: 28, outcome: 'completed' },
    ]);
  });

  it('record emits the chunks of the model unchanged, and unsubscribes it', () => {
    const chunks: Chunk[] = [
      { type: 'text', text: 'a' },
      { type: 'finish', reason: 'stop' },
    ];
    const lines: string[] = [];
    const model = { provider: 'p', name: 'm', stream: () => from(chunks) };
    const received: Chunk[] = [];
    record(model, (line) => lines.push(line))
      .stream(request)
      .subscribe((chunk) => received.push(chunk));
    expect(received.every((chunk, index) => chunk === chunks[index])).toBe(true);
    record({ ...model, stream: () => NEVER }, (line) => lines.push(line))
      .stream(request)
      .subscribe()
      .unsubscribe();
    expect(entriesOf(lines).at(-1)).toMatchObject({ type: 'requestEnd', outcome: 'unsubscribed' });
    record(model, (line) => lines.push(line))
      .stream(request)
      .pipe(take(1))
      .subscribe();
    expect(entriesOf(lines).at(-1)).toMatchObject({ type: 'requestEnd', outcome: 'unsubscribed' });
  });

  it('record writes deltas that wait for others after a second', () => {
    const lines: string[] = [];
    inVirtualTime(
      () => record(scriptedModel([['a ', { delay: 5000 }, 'b ']]), (line) => lines.push(line)).stream(request),
      2000,
    );
    expect(textIn(lines.filter((line) => !line.includes('requestEnd')))).toBe('a ');
  });

  it('record writes a second request with the messages that are new', () => {
    const lines: string[] = [];
    const model = record(scriptedModel(['a', 'b']), (line) => lines.push(line));
    const next = { messages: [...request.messages, userMessage('More')] };
    model.stream(request).subscribe();
    model.stream(next).subscribe();
    const requests = entriesOf(lines).filter((entry) => entry.type === 'request');
    expect(requests[1]).toMatchObject({ request: 2, earlier: 1, messages: [userMessage('More')] });
    expect(readRecording(lines).runs[0]?.requests.map(({ messages }) => messages)).toEqual([
      request.messages,
      next.messages,
    ]);
  });

  it('record writes only the ends after the limit, with the number of dropped entries', () => {
    const long = Array.from({ length: 50 }, (_, index) => toolCall(`tool${index}`));
    const lines = recordOutput(long, { maxLength: 1000 });
    expect(lines.join('').length).toBeLessThan(1600);
    expect(entriesOf(lines).at(-1)).toMatchObject({ type: 'requestEnd', outcome: 'completed' });
    const dropped = entriesOf(lines).flatMap((entry) => (entry.type === 'requestEnd' ? [entry.dropped ?? 0] : []));
    expect(typesOf(lines).filter((type) => type === 'chunk').length + dropped[0]!).toBe(51);
  });

  it('record cuts the texts of a line that is too long', () => {
    const lines = recordOutput([toolCall('x', { text: 'y'.repeat(5000) })], { maxLineLength: 2000 });
    const chunk = entriesOf(lines).find((entry) => entry.type === 'chunk');
    expect(JSON.stringify(chunk)).toMatch(/"text":"y{1000}\.\.\. \(4000 more characters were not recorded\)"/);
  });

  it('record rejects limits that are not numbers', () => {
    expect(() => record(scriptedModel([]), () => undefined, { maxLength: NaN })).toThrow('maxLength is NaN.');
  });

  it('record survives a sink that throws: the error is reported, and the run continues', () => {
    const reported: unknown[] = [];
    config.onUnhandledError = (error) => reported.push(error);
    const types: string[] = [];
    const broken = record(scriptedModel(['Hello']), () => {
      throw new Error('disk full');
    });
    const { values } = inVirtualTime(() => broken.stream(request));
    types.push(...values.map(({ value }) => value.type));
    inVirtualTime(() => timer(10));
    expect(types).toEqual(['text', 'finish']);
    return new Promise<void>((resolve) => {
      setTimeout(() => {
        config.onUnhandledError = null;
        expect(reported).toEqual([new Error('disk full')]);
        resolve();
      }, 0);
    });
  });

  it('record writes to a Subject', () => {
    const sink = new Subject<string>();
    const lines: string[] = [];
    sink.subscribe((line) => lines.push(line));
    record(scriptedModel(['Hello']), sink)
      .stream(request)
      .subscribe();
    expect(textIn(lines)).toBe('Hello');
  });
});

describe('the secrets of a recording', () => {
  const password = 'open-sesame-42 & more';
  const key = `sk-live-${'A1b2'.repeat(8)}`;
  const token = `eyJhbGciOiJIUzI1NiJ9.${'eyJzdWIiOiIxMjM0'.repeat(2)}.c2lnbmF0dXJl`;

  it('a known secret, an API key and a token are removed, however the deltas are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 60 }), (sizes) => {
        const text = `My password is ${password}, my key ${key} and my token ${token}.`;
        const deltas: string[] = [];
        for (let at = 0, next = 0; at < text.length; next++) {
          const size = sizes[next % sizes.length]!;
          deltas.push(text.slice(at, at + size));
          at += size;
        }
        const written = recordOutput(deltas, { secrets: [password] });
        expect(textIn(written)).toBe('My password is [key], my key [key] and my token [key].');
      }),
      { numRuns: 50 },
    );
  });

  it('a secret that is split by the size of an entry is removed', () => {
    for (const before of [253, 254, 255, 256]) {
      const deltas = [...Array.from({ length: before }, () => 'x '), key.slice(0, 12), key.slice(12), ' end'];
      expect(textIn(recordOutput(deltas))).toBe(`${'x '.repeat(before)}[key] end`);
    }
  });

  it('a secret is removed from arguments, results, errors, messages and settings', () => {
    const agent = createAgent({
      model: scriptedModel([[toolCall('weather', { city: key })], [{ error: new Error(`Invalid key ${password}`) }]]),
      system: `Never say ${password}.`,
      tools: [weather],
      stopSequences: [password],
    }) as unknown as Agent;
    const { lines } = recordVirtually(agent, (recorded) => recorded.stream(`I say ${password}`), {
      secrets: [password],
    });
    const written = lines.join('\n');
    expect(written).not.toContain(key);
    expect(written).not.toContain('sesame');
    expect(written).toContain('I say [key]');
    expect(written).toContain('"error":{"name":"Error","message":"Invalid key [key]"}');
  });

  it('a secret that looks like a number leaves valid JSON', () => {
    const lines = recordOutput([toolCall('x', { pin: 12_345_678, text: '12345678' })], { secrets: ['12345678'] });
    const chunk = entriesOf(lines).find((entry) => entry.type === 'chunk');
    expect(chunk).toMatchObject({ value: { arguments: { text: '[key]' } } });
  });
});

describe('a recording without content', () => {
  it('a recording without content has dots of the same length, and keeps names, ids, reasons, usage and times', () => {
    const { lines, played } = recordVirtually(busyAgent(), undefined, { content: false });
    const written = lines.join('\n');
    for (const word of ['Oslo', 'Atlantis', 'cold', 'Two cities', 'Be brief', 'station'])
      expect(written).not.toContain(word);
    const { events } = { events: readRecording(lines).runs[0]!.steps };
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).sort((a, b) => a - b));
    expect(textIn(lines)).toMatch(/^·+$/);
    expect(written).toContain('"name":"weather"');
    expect(written).toContain('"usage":{"input":320,"output":42}');
    expect(written).toContain('"code":"failed"');
    expect(played.values.length).toBe(
      readRecording(lines).runs[0]!.steps.filter(({ entry }) => ['event', 'both'].includes(entry.type)).length,
    );
  });
});

describe('recordRun', () => {
  it('recordRun writes the input, the settings, each request, the events, a stop and the end', () => {
    const { lines } = recordVirtually(
      busyAgent(),
      (agent) => agent.stream('Oslo?', { stop: timer(700), history: [userMessage('Earlier')] }),
      { name: 'weather service' },
    );
    const entries = entriesOf(lines);
    expect(entries[1]).toMatchObject({ type: 'start', kind: 'run', name: 'weather service' });
    expect(entries[1]).toMatchObject({ history: [userMessage('Earlier')], input: [userMessage('Oslo?')] });
    expect(entries[2]).toMatchObject({ type: 'agent', system: 'Be brief.', toolConcurrency: 'unlimited' });
    expect(entries.find(({ type }) => type === 'stop')).toMatchObject({ at: 700 });
    expect(entries.at(-1)).toEqual({ type: 'end', run: 1, at: 700, outcome: 'completed' });
  });

  it('recordRun numbers the runs of an agent, which may overlap', () => {
    const lines: string[] = [];
    const agent = recordRun(busyAgent(), (line) => lines.push(line));
    inVirtualTime(() => {
      agent.stream('A').subscribe({ error: () => undefined });
      return agent.run('B');
    });
    const { runs } = readRecording(lines);
    expect(runs.map(({ start, end }) => [start.run, start.input, end?.outcome])).toEqual([
      [1, [userMessage('A')], 'failed'], // both runs share a script, which has too few turns
      [2, [userMessage('B')], 'completed'],
    ]);
  });

  it('recordRun records no checkpoint', () => {
    const { lines, played } = recordVirtually(busyAgent(), (agent) => agent.stream('A', { checkpoints: true }));
    expect(played.values.some(({ value }) => value.type === 'checkpoint')).toBe(true);
    expect(lines.join('')).not.toContain('"checkpoint":');
  });

  it('recordRun records the run that resume starts, as a resumed one', async () => {
    const lines: string[] = [];
    const first = createAgent({
      model: scriptedModel([[toolCall('weather', { city: 'Oslo' })], 'Cold.']),
      tools: [weather],
    });
    const { values } = inVirtualTime(() => first.stream('A', { checkpoints: true }).pipe(take(6)));
    const checkpoint = values.map(({ value }) => value).findLast((event) => event.type === 'checkpoint')!.checkpoint;
    const { values: rest } = inVirtualTime(() => recordRun(first, (line) => lines.push(line)).resume(checkpoint));
    expect(rest.at(-1)?.value.type).toBe('result');
    expect(readRecording(lines).runs[0]?.start.resumed).toBe(true);
    await lastValueFrom(of(undefined));
  });
});

describe('readRecording', () => {
  it('readRecording ignores an incomplete last line, and keeps what came before a crash', () => {
    const { lines } = recordVirtually(busyAgent());
    const text = lines.join('\n');
    const cut = readRecording(text.slice(0, text.lastIndexOf('"finishReason"')));
    expect(cut.runs[0]?.end).toBeUndefined();
    expect(cut.runs[0]?.requests).toHaveLength(2);
  });

  it('readRecording ignores entries of types that it does not know', () => {
    const { lines } = recordVirtually(busyAgent());
    const more = [...lines, '{"type":"heartbeat","at":1}', '{"type":"future","run":1,"at":2}'];
    expect(readRecording(more).runs[0]?.end?.outcome).toBe('completed');
  });

  it('readRecording reads the JSON document that recordFetch returned before there were lines', () => {
    const exchange = { method: 'POST', url: 'http://a/', body: {}, status: 200, frames: ['data: 1\n\n'], end: 'whole' };
    const { version, exchanges, runs } = readRecording(JSON.stringify({ exchanges: [exchange] }, null, 2));
    expect({ version, exchanges, runs }).toEqual({ version: 0, exchanges: [exchange], runs: [] });
  });

  it.each([
    ['{"type":"recording","version":2,"at":0}', 'version 2, and this release reads up to version 1'],
    ['hello', 'Line 1 is not a JSON object.'],
    ['{"type":"start","run":1}', 'Line 1 is not the header of a recording.'],
    ['{"type":"recording","version":1,"at":0}\nnull\n{"type":"start"}', 'Line 2 is not a JSON object.'],
    ['', 'The recording is empty.'],
  ])('readRecording fails for %j', (text, message) => {
    expect(() => readRecording(text)).toThrow(message);
  });
});
