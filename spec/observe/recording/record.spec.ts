import { describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { concat, config, from, lastValueFrom, map, merge, NEVER, of, Subject, take, takeUntil, timer } from 'rxjs';
import { agentTool, createAgent, progress, tool, toolLoop, userMessage } from 'rivulet';
import type { Agent, Chunk, Orchestrator } from 'rivulet';
import { readRecording, record, recordRun } from 'rivulet/recording';
import type { RecordingEntry } from 'rivulet/recording';
import { inVirtualTime, scriptedModel, toolCall } from 'rivulet/testing';
import type { RecordingOptions } from '../../../lib/observe/recording/recordingOutput.js';
import type { ScriptedOutput } from '../../../lib/testing/script.js';
import { busyAgent, recordVirtually, weather } from './runs.js';

const request = { messages: [userMessage('Hello')] };

/** The lines of a recorded request. */
function recordOutput(output: ScriptedOutput, options: RecordingOptions = {}): readonly string[] {
  const lines: string[] = [];
  inVirtualTime(() => record(scriptedModel([output]), (line) => lines.push(line), options).stream(request));
  return lines;
}

/** The entries, without the id of their recorder, which is random. */
const entriesOf = (lines: readonly string[]) =>
  lines.map((line) => {
    const { recorder, ...entry } = JSON.parse(line) as RecordingEntry & { readonly recorder?: string };
    expect(recorder).toMatch(/^[\w-]{10}$/);
    return entry;
  });
const typesOf = (lines: readonly string[]) => entriesOf(lines).map(({ type }) => type);

/** The text of the recorded deltas. */
const textIn = (lines: readonly string[]) =>
  entriesOf(lines)
    .flatMap((entry) => (entry.type === 'deltas' ? entry.texts : []))
    .join('');

describe('record', () => {
  it('record writes no stop of a request', () => {
    const lines: string[] = [];
    const model = scriptedModel(['a']);
    record(model, (line) => lines.push(line))
      .stream({ ...request, temperature: 1, stop: NEVER })
      .subscribe();
    expect(entriesOf(lines)[2]).toMatchObject({ type: 'request', settings: { temperature: 1 } });
    expect(lines.join('')).not.toContain('"stop":');
    expect(model.requests).toEqual([{ ...request, temperature: 1 }]);
  });

  it('record writes one line of JSON per entry, with deltas together and times in milliseconds', () => {
    const lines = recordOutput([{ delay: 20 }, 'a', { delay: 3 }, 'b', toolCall('x'), { delay: 5 }, 'c']);
    expect(entriesOf(lines)).toEqual([
      { type: 'recording', version: 2, at: 0, content: true },
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

  it('record writes at most 1024 deltas in an entry, and full entries at once', () => {
    const lines: string[] = [];
    const chunks = Array<Chunk>(2050).fill({ type: 'text', text: 'x ' });
    const model = scriptedModel([concat(chunks, NEVER)]);
    const subscription = record(model, (line) => lines.push(line))
      .stream(request)
      .subscribe();
    const sizes = entriesOf(lines).flatMap((entry) => (entry.type === 'deltas' ? [entry.texts.length] : []));
    expect(sizes).toEqual([1024, 1024]);
    subscription.unsubscribe();
    expect(textIn(lines)).toBe('x '.repeat(2050));
  });

  it('record keeps at most 1024 texts of several kinds in memory', () => {
    const lines: string[] = [];
    const pair = (['thinking', 'text'] as const).map((type): Chunk => ({ type, text: 'x ' }));
    const model = scriptedModel([concat(Array(513).fill(pair).flat(), NEVER)]);
    const subscription = record(model, (line) => lines.push(line))
      .stream(request)
      .subscribe();
    expect(typesOf(lines).filter((type) => type === 'deltas')).toHaveLength(1024);
    subscription.unsubscribe();
    expect(typesOf(lines).filter((type) => type === 'deltas')).toHaveLength(1026);
  });

  it('record counts each delta that it has dropped', () => {
    const entries = entriesOf(recordOutput(Array<string>(5000).fill('some words '), { maxLength: 30_000 }));
    const written = entries.flatMap((entry) => (entry.type === 'deltas' ? entry.texts : []));
    const [dropped = 0] = entries.flatMap((entry) => (entry.type === 'requestEnd' ? [entry.dropped] : []));
    expect(written).toHaveLength(1024);
    expect(dropped).toBe(5000 - 1024 + 1); // and the `finish`
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

  const longSecret = `of ${'s'.repeat(5000)} mine`;
  it.each([
    [
      'the cut is within a secret',
      `${'y'.repeat(990)}my own password${'z'.repeat(30_000)}`,
      /"y{990}\[key\]z{5}\.\.\. \(/,
    ],
    ['a text is nothing but secrets', 'my own password '.repeat(3000), /"(\[key\] )+\[key\.\.\. \(/],
    ['a text is nothing but long secrets', longSecret.repeat(10), /"(\[key\]){3} +\.\.\. \(/],
    [
      'a secret is longer than what is kept',
      `${'y'.repeat(900)}${longSecret}${'z'.repeat(30_000)}`,
      /"y{900}\[key\]z{95}\.\.\. \(/,
    ],
  ])('record removes secrets before it cuts a text: %s', (_, text, expected) => {
    const secrets = ['my own password', longSecret];
    const lines = recordOutput([toolCall('x', { text })], { maxLineLength: 2000, secrets });
    const chunk = JSON.stringify(entriesOf(lines).find((entry) => entry.type === 'chunk'));
    expect(chunk).toMatch(expected);
    expect(chunk).not.toMatch(/my own|s{9}/);
  });

  it('record removes a secret that begins in a long text and ends in the next one', () => {
    const texts = [`${'y'.repeat(40_000)}my own `, `password${'z'.repeat(40_000)}`];
    const lines: string[] = [];
    const model = record(scriptedModel(['Hi']), (line) => lines.push(line), {
      maxLineLength: 5000,
      secrets: ['my own password'],
    });
    const parts = texts.map((text) => ({ type: 'text', text }) as const);
    inVirtualTime(() => model.stream({ messages: [{ role: 'user', parts }] }));
    const written = JSON.stringify(entriesOf(lines).find(({ type }) => type === 'request'));
    expect(written).toMatch(/"text":"z{1000}\.\.\. \(/);
    expect(written).not.toMatch(/my own|password/);
  });

  it('record writes no line that is longer than its limit, whatever makes it long', () => {
    const texts = Array.from({ length: 1000 }, () => 'word ');
    const list = Array.from({ length: 10_000 }, (_, index) => index); // record.slow.spec.ts: ten times as many
    const output = [...texts, toolCall('x', { list }), toolCall('x', { list: list.map(() => list.slice(0, 20)) })];
    const lines = recordOutput(output, { maxLineLength: 2000 });
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(2000);
    expect(textIn(lines)).toBe(texts.join(''));
    expect(entriesOf(lines).filter(({ type }) => type === 'chunk')).toMatchObject([
      { cut: true, value: { arguments: { list: list.slice(0, 100) } } },
      { cut: true, value: { type: 'toolCallFragment' } },
      { value: { type: 'finish' } },
    ]);
    expect(readRecording(lines).skipped).toBe(0);
  });

  it('record writes no entry beyond the limit of a recording, however long the entry is', () => {
    const lines = recordOutput([toolCall('x', { text: 'y'.repeat(5000) }), 'a '], { maxLength: 1000 });
    expect(lines.join('').length).toBeLessThan(1600);
    expect(entriesOf(lines).at(-1)).toMatchObject({ type: 'requestEnd', dropped: 3 });
  });

  it('recordRun writes the start of a run beyond the limit, cut', () => {
    const { lines, recording } = recordVirtually(busyAgent(), (agent) => agent.stream('long '.repeat(2000)), {
      maxLength: 2000,
    });
    expect(lines.join('').length).toBeLessThan(4000);
    expect(recording.runs).toHaveLength(1);
  });

  it('record writes a value that JSON cannot represent as a text, and continues', () => {
    const cycle: Record<string, unknown> = { name: 'cycle' };
    cycle['self'] = cycle;
    const chunk = { type: 'metadata', metadata: { big: 12n, cycle } } as unknown as Chunk;
    const lines: string[] = [];
    const model = { provider: 'p', name: 'm', stream: () => of(chunk, { type: 'finish', reason: 'stop' } as const) };
    inVirtualTime(() => record(model, (line) => lines.push(line)).stream(request));
    expect(entriesOf(lines).find(({ type }) => type === 'chunk')).toMatchObject({
      value: { metadata: { big: '12', cycle: { name: 'cycle', self: '(circular)' } } },
    });
    expect(typesOf(lines).at(-1)).toBe('requestEnd');
  });

  it('record writes nothing after the end if the sink unsubscribes the model, and starts no timer', () => {
    const output = ['one ', 'two', { type: 'thinking', text: 'three ' }, { delay: 50 }, 'four '] as const;
    for (const at of [4, 5, 6]) {
      const lines: string[] = [];
      const stop = new Subject<void>();
      const sink = (line: string) => {
        lines.push(line);
        if (lines.length === at) stop.next();
      };
      inVirtualTime(
        () =>
          record(scriptedModel([output]), sink)
            .stream(request)
            .pipe(takeUntil(stop)),
        5000,
      );
      expect(typesOf(lines).filter((type) => type === 'requestEnd')).toHaveLength(1);
      expect(typesOf(lines).at(-1)).toBe('requestEnd');
    }
  });

  it('record writes times that never decrease, also if the clock is set back', () => {
    const lines: string[] = [];
    const now = jest.spyOn(Date, 'now');
    const chunks = new Subject<Chunk>();
    const model = { provider: 'p', name: 'm', stream: () => chunks };
    now.mockReturnValue(5000);
    record(model, (line) => lines.push(line))
      .stream(request)
      .subscribe();
    now.mockReturnValue(1000);
    chunks.next({ type: 'metadata', metadata: {} });
    now.mockRestore();
    chunks.complete();
    const times = entriesOf(lines.slice(2)).map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[1]).toBe(5000);
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

  const pieces = (text: string, size = 5) => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
  const deltas = pieces(`my key ${key} end`);
  const noop = tool({ name: 't', description: 'Nothing.', execute: () => 1 });
  const agentOf = (output: ScriptedOutput, ...others: ScriptedOutput[]) =>
    createAgent({ model: scriptedModel([output, ...others]), tools: [noop] }) as unknown as Agent;
  const fragment = (index: number, args: string, first: boolean) => ({
    type: 'toolCallFragment' as const,
    index,
    ...(first ? { id: `call_${index}`, name: 't' } : {}),
    arguments: args,
  });
  const copying: Orchestrator = {
    name: 'copying',
    turn: (state, context) => toolLoop.turn(state, context).pipe(map((event) => ({ ...event }))),
  };

  const splitSecrets: Readonly<Record<string, () => Agent>> = {
    'the text of a sub-agent': () => {
      const inner = createAgent({ model: scriptedModel([deltas.flatMap((text) => [{ delay: 1 }, text])]) });
      return createAgent({
        model: scriptedModel([[toolCall('ask', { prompt: 'x' })], 'ok']),
        tools: [agentTool(inner, { name: 'ask', description: 'Asks.' })],
      });
    },
    'the first text after a tool round': () => agentOf(['text', toolCall('t')], pieces(`${key} end`, 15)),
    'texts that an orchestrator copies': () => createAgent({ model: scriptedModel([deltas]), orchestrator: copying }),
    'texts with fields of their own': () =>
      agentOf(deltas.map((text, index) => ({ type: 'text', text, own: { index } }))),
    'arguments of calls that alternate': () =>
      agentOf(
        [
          ...pieces(`{"k":"${key}"}`).flatMap((text, index) => [
            fragment(0, text, index === 0),
            fragment(1, index === 0 ? '{' : ' ', index === 0),
          ]),
          fragment(1, '}', false),
        ],
        'ok',
      ),
    'arguments whose first fragment has the id': () =>
      agentOf(
        pieces(`{"k":"${key}"}`, 12).map((text, index) => fragment(0, text, index === 0)),
        'ok',
      ),
    'arguments with escapes': () =>
      agentOf(
        pieces(`{"k":"\\n\\u0073k-${key.slice(3)}"}`, 3).map((text, index) => fragment(0, text, index === 0)),
        'ok',
      ),
    'texts between thinking': () => agentOf(deltas.flatMap((text) => [text, { type: 'thinking', text: '.' }])),
    'texts between metadata': () => agentOf(deltas.flatMap((text) => [text, { type: 'metadata', metadata: { a: 1 } }])),
    'texts with pauses': () => agentOf(deltas.flatMap((text) => [{ delay: 1500 }, text])),
    'the progress of a tool': () =>
      createAgent({
        model: scriptedModel([[toolCall('t')], 'ok']),
        tools: [
          tool({
            name: 't',
            description: 'Slow.',
            execute: () => concat(of(...deltas.map((text) => progress(text))), of(1)),
          }),
        ],
      }),
    'a line after a line break': () => agentOf([`The key:\n${key}`]),
  };

  it.each(Object.keys(splitSecrets))('a key is removed from %s', (name) => {
    const { lines, played } = recordVirtually(splitSecrets[name]!());
    const texts = new Map<string, string>(); // all texts of one field, in their order
    const collect = (value: unknown, path: string) => {
      if (typeof value === 'string') texts.set(path, (texts.get(path) ?? '') + value);
      else if (typeof value === 'object' && value !== null)
        for (const [field, inner] of Object.entries(value))
          collect(inner, Array.isArray(value) ? path : `${path}.${field}`);
    };
    for (const line of lines) collect(JSON.parse(line), '');
    expect([...texts.values()].join('\n')).not.toContain('A1b2A1');
    expect(lines.join('\n')).toContain('[key]');
    const events = readRecording(lines).runs[0]!.steps.filter(({ entry }) => ['event', 'both'].includes(entry.type));
    expect(events.map(({ entry }) => (entry as { value: Chunk }).value.type)).toEqual(
      played.values.map(({ value }) => value.type),
    );
    expect(events.map(({ at }) => at)).toEqual(played.values.map(({ at }) => Math.floor(at + 1e-7)));
  });

  it.each([
    ['a bearer token in many deltas', 'use Bearer ', 'aB3.'.repeat(300)],
    ['a private key', '-----BEGIN PRIVATE KEY-----\n', `${'MIIEvQIBADANBgkq\n'.repeat(20)}-----END PRIVATE KEY-----`],
    ['a key of AWS', 'id ', 'AKIAIOSFODNN7EXAMPLE'],
    ['a key of Slack', 'token ', 'xoxb-123456789012-abcdefghijkl'],
  ])('%s is removed', (_, before, secret) => {
    for (const size of [1, 7, 5000]) {
      const written = textIn(recordOutput(pieces(`${before}${secret} "end"`, size)));
      expect(written).toMatch(/\[key\] ?"end"$/);
      expect(written).not.toContain(secret.slice(0, 12));
    }
    const slow = textIn(recordOutput([before, { delay: 1500 }, secret, ' "end"']));
    expect(slow).not.toContain(secret.slice(0, 12));
  });

  it('a known secret that is a number is removed from arguments, not from times and token counts', () => {
    const output = [toolCall('x', { pin: 48_151_623 }), { delay: 4815 }, 'a '] as const;
    const finish = { type: 'finish', reason: 'stop', usage: { input: 48_151_623 } } as const;
    const lines = recordOutput([...output, finish], { secrets: ['48151623', '4815'] });
    expect(lines.join('\n')).toContain('"pin":"[key]"');
    expect(lines.join('\n')).toContain('"input":48151623');
    expect(entriesOf(lines).at(-1)).toMatchObject({ at: 4815 });
  });

  it('entries wait for a text only if a secret may begin at its end', () => {
    const lines: string[] = [];
    const output = ['Let me look.', toolCall('x'), { delay: 5000 }, 'b '] as const;
    inVirtualTime(() => record(scriptedModel([output]), (line) => lines.push(line)).stream(request), 10);
    expect(typesOf(lines).slice(3, 5)).toEqual(['deltas', 'chunk']);
  });

  it('a secret that is split by the size of an entry is removed', () => {
    for (const before of [1021, 1022, 1023, 1024]) {
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

describe('a recording without content, by type', () => {
  it('a recording without content masks names and ids that are not those of its own vocabulary', () => {
    const person = { name: 'Ann', id: 'Ann', reason: 'Ann', status: 'Ann', model: 'Ann', end: 'Ann', type: 'Ann' };
    const person2 = { ...person, headers: { method: 'Ann' }, usage: 'Ann', kind: 'Ann', code: 'Ann' };
    const agent = createAgent({
      model: scriptedModel([
        [
          { type: 'metadata', metadata: { user: person2, serverTools: [{ input: person, raw: person }] } },
          toolCall('t', person),
        ],
        [{ type: 'source', source: { type: 'source', url: 'http://Ann', title: 'Ann' } }, 'Ann'],
      ]),
      tools: [tool({ name: 't', description: 'People.', execute: () => person2 })],
    }) as unknown as Agent;
    const history = [{ ...userMessage('Ann'), metadata: { author: person } }];
    const { lines } = recordVirtually(agent, (recorded) => recorded.stream('Ann', { history }), { content: false });
    expect(lines.join('\n')).not.toContain('Ann');
    expect(lines.join('\n')).toContain('"name":"t"');
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

  it('recordRun keeps runs apart that several recorders write to one sink', () => {
    const lines: string[] = [];
    const sink = (line: string) => lines.push(line);
    const agentOf = (text: string) =>
      createAgent({ model: scriptedModel([[{ delay: 10 }, text, { delay: 10 }, text]]) });
    inVirtualTime(() =>
      merge(recordRun(agentOf('a '), sink).stream('I am A'), recordRun(agentOf('b '), sink).stream('I am B')),
    );
    const { runs } = readRecording(lines);
    const shown = runs.map(({ start, end, requests, steps }) => ({
      input: start.input,
      texts: steps.map(({ entry }) => (entry.type === 'both' && entry.value.type === 'text' ? entry.value : '')),
      requests: requests.length,
      end: end?.outcome,
    }));
    expect(shown).toMatchObject([
      { input: [userMessage('I am A')], requests: 1, end: 'completed' },
      { input: [userMessage('I am B')], requests: 1, end: 'completed' },
    ]);
    expect(JSON.stringify(shown[0])).toContain('"a "');
    expect(JSON.stringify(shown[0])).not.toContain('"b "');
    expect(JSON.stringify(shown[1])).not.toContain('"a "');
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

  it('readRecording skips what a crash cut off in the middle of a file, and counts it', () => {
    const { lines } = recordVirtually(busyAgent());
    const text = lines.join('\n');
    const half = text.slice(0, text.length / 2);
    for (const all of [`${half}\n${text}`, `${half}${text}`]) {
      const { runs, skipped } = readRecording(all);
      expect(runs.map(({ end }) => end?.outcome)).toEqual([undefined, 'completed']);
      expect(skipped).toBe(1);
    }
    expect(readRecording(text).skipped).toBe(0);
  });

  it.each([
    '{"type":"event","run":1,"at":1}',
    '{"type":"event","run":1,"at":1,"value":{"type":"text","text":5}}',
    '{"type":"event","run":1,"at":null,"value":{"type":"text","text":"a"}}',
    '{"type":"event","run":1,"at":1,"value":{"type":"result"}}',
    '{"type":"event","run":1,"at":1,"value":{"type":"toolCall","id":"a","name":"b"}}',
    '{"type":"event","run":1,"at":1,"value":{"type":"nested","id":"a","name":"b"}}',
    '{"type":"event","run":1,"at":1,"value":{"type":"message","message":{"role":"model","parts":[null]}}}',
    '{"type":"deltas","of":"both","run":1,"at":1,"value":{"type":"text"},"field":"text"}',
    '{"type":"deltas","of":"both","run":1,"at":1,"value":{"type":"nested"},"field":"text","texts":["a"],"after":[0]}',
    '{"type":"request","run":1,"request":1,"at":1,"earlier":0,"messages":[]}',
    '{"type":"start","run":1,"at":0,"kind":"run","input":"Hello"}',
    '{"type":"start","run":1,"at":0,"kind":"run","name":7}',
    '{"type":"start","run":1,"at":0,"kind":"run","name":null}',
    '{"type":"exchange","at":1}',
    '{"run":1}',
    '[1]',
  ])('readRecording skips the malformed entry %s', (line) => {
    const { lines } = recordVirtually(busyAgent());
    const { runs, skipped } = readRecording([...lines, line]);
    expect(skipped).toBe(1);
    expect(runs).toEqual(readRecording(lines).runs);
  });

  it('readRecording reads a recording of version 1', () => {
    const { version, runs, skipped } = readRecording(`{"type":"recording","version":1,"at":0,"content":true}
{"type":"start","run":1,"at":0,"kind":"run","input":[{"role":"user","parts":[{"type":"text","text":"Hi"}]}]}
{"type":"agent","run":1,"at":0,"toolConcurrency":4}
{"type":"request","run":1,"request":1,"at":0,"model":{"provider":"p","name":"m"},"earlier":0,"messages":[{"role":"user","parts":[{"type":"text","text":"Hi"}]}],"tools":[]}
{"type":"deltas","of":"both","run":1,"request":1,"at":5,"value":{"type":"text","text":""},"field":"text","texts":["a","b"],"after":[0,2]}
{"type":"chunk","run":1,"at":8,"value":{"type":"finish","reason":"stop"},"request":1}
{"type":"requestEnd","request":1,"at":8,"run":1,"outcome":"completed"}
{"type":"end","at":8,"run":1,"outcome":"completed"}
`);
    expect({ version, skipped }).toEqual({ version: 1, skipped: 0 });
    expect(runs).toMatchObject([{ start: { input: [userMessage('Hi')] }, end: { outcome: 'completed' } }]);
    expect(runs[0]?.steps.map(({ at, entry }) => [at, entry.type])).toEqual([
      [0, 'agent'],
      [0, 'request'],
      [5, 'both'],
      [7, 'both'],
      [8, 'chunk'],
      [8, 'requestEnd'],
      [8, 'end'],
    ]);
    expect(runs[0]?.requests[0]?.end?.outcome).toBe('completed');
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
    ['{"type":"recording","version":3,"at":0}', 'version 3, and this release reads up to version 2'],
    ['hello', 'Line 1 is not a JSON object.'],
    ['{"type":"start","run":1}', 'Line 1 is not the header of a recording.'],
    ['', 'The recording is empty.'],
  ])('readRecording fails for %j', (text, message) => {
    expect(() => readRecording(text)).toThrow(message);
  });
});
