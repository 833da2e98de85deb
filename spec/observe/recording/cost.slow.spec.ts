import { describe, expect, it } from '@jest/globals';
import { findKeyShapes, openKeyShape } from '../../../lib/protocol/keyShapes.js';
import { redactThrown } from '../../../lib/protocol/redact.js';
import { findSecrets, spellings } from '../../../lib/protocol/secrets.js';
import { EntryQueue } from '../../../lib/observe/recording/entryQueue.js';
import { redactFrames } from '../../../lib/observe/recording/redactFrames.js';
import { drawRun } from '../../../lib/observe/draw/drawRun.js';
import { readRecording } from '../../../lib/observe/recording/readRecording.js';
import { replayEvents, runOf } from '../../../lib/observe/recording/replay.js';
import { writeSpec } from '../../../lib/observe/spec/writeSpec.js';
import { openTail, secretsIn } from '../../../lib/observe/recording/redactTexts.js';
import { MarkdownWriter } from '../../../lib/cli/chat/markdownWriter.js';
import { InspectedRuns } from '../../../lib/cli/inspect/inspectedRuns.js';
import { base64, userMessage } from '../../../lib/core/message.js';
import { scoreTools } from '../../../lib/tools/scoreTools.js';
import { fromUiMessages } from '../../../lib/service/uiChat/fromUiMessages.js';
import { plainText } from '../../../lib/core/plainText.js';
import { from } from 'rxjs';
import type { RunEvent } from '../../../lib/core/event.js';
import { KnownSecrets } from '../../../lib/tools/mcp/knownSecrets.js';
import { toView } from '../../../lib/operators/toView.js';
import { expectLinear, shortestTime } from '../../support/cost.js';
import { anyTool } from '../../support/toolCalls.js';

const secrets = spellings(['a password of mine', 'abcdefghijklmnop']);
const cut = (text: string): readonly string[] => text.match(/[^]{1,40}/g) ?? [];
const tools = Array.from({ length: 20 }, (_, index) => anyTool(`tool_${index}`, () => 1));

/** What reads foreign text. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  findKeyShapes,
  openKeyShape,
  findSecrets: (text) => findSecrets(text, secrets),
  secretsIn: (text) => secretsIn(text, secrets),
  openTail: (text) => openTail(text, secrets),
  plainText,
  redactThrown: (text) => redactThrown(new Error(text), { provider: 'p', secrets, debug: true }),
  'redactFrames, a text': (text) => redactFrames([`data: ${JSON.stringify({ files: [text] })}\n\n`], secrets),
  'redactFrames, deltas': (text) =>
    redactFrames(
      cut(text).map((content) => `data: ${JSON.stringify({ index: 0, content })}\n\n`),
      secrets,
    ),
  'redactFrames, raw': (text) => redactFrames(cut(text), secrets),
  'EntryQueue, texts between other entries': (text) => {
    const queue = new EntryQueue(secrets, () => undefined);
    for (const piece of cut(text)) {
      queue.push({ texts: [piece], streams: ['run/:text'], entryOf: () => ({}) as never });
      queue.push({ texts: [''], streams: [], entryOf: () => ({}) as never });
      queue.flush();
    }
    queue.flush(['']);
  },
  'fromUiMessages, calls': (text) =>
    fromUiMessages([
      {
        id: 'a',
        role: 'assistant',
        parts: cut(text).map((piece, index) => ({
          ...{ type: 'tool-pay', toolCallId: `${index}${piece}`, state: 'input-available', input: {} },
        })),
      },
    ] as never),
  scoreTools: (text) => scoreTools(text, tools),
  MarkdownWriter: (text) => {
    const writer = new MarkdownWriter({ columns: () => 80, rows: () => 24 }, undefined);
    for (const piece of cut(text)) writer.write(piece);
    return writer.end();
  },
};

/** Texts of which each part looks like the beginning of something. */
const pieces: Readonly<Record<string, string>> = {
  words: 'some words of text ',
  'one word': 'a',
  'escaped quotes': '\\"',
  quotes: '"',
  'open braces': '{"a":[',
  'beginnings of keys': 'sk-',
  'beginnings of tokens': 'eyJ.',
  'words with dots': 'aaaaaaaaaaaaaaa.',
  credentials: 'Bearer ',
  'beginnings of private keys': '-----BEGIN ',
  'lines of a private key': 'MIIEowIBAAKCAQEA7bq98rhv\n',
  'escapes of JSON': '\\u0073',
  'escaped slashes': 'a\\/',
  backslashes: '\\',
  URLs: 'https://a:b@',
  'open URLs': '://a:',
  signatures: '&sig=a',
  'names of secrets': 'api_key: "',
  'names of tokens': '?access_token=',
  'passwords of settings': ';Password=ab1',
  'headers of tokens': 'authorization: token ',
  'schemes and blanks': 'Bearer    ',
  'ends of tokens': 'eyJhbGciOiJIUz..',
  'passwords with @': '@://a:',
  digits: '1234567890:AA',
  slashes: '/',
  'line feeds': '\n',
  'control characters': '\u001b[1;',
  'beginnings of bots': 'MTk4-',
  'ids of bots': 'MTk4NjIyNDgzNDcxOTI1MjQ4.',
  'accounts with tokens': 'AC0123456789abcdef0123456789abcdef:',
  webhooks: 'hooks.slack.com/',
};

describe('the cost of foreign text', () => {
  const rows = Object.keys(readers).flatMap((reader) => Object.keys(pieces).map((text) => [reader, text] as const));
  it.each(rows)('%s is linear in the length of a text of %s', (reader, name) => {
    const read = readers[reader] ?? (() => undefined);
    const piece = pieces[name] ?? '';
    const texts = [64, 128, 256].map((size) => piece.repeat(Math.ceil((size * 1024) / piece.length)));
    read(texts[0] ?? '');
    expectLinear(read, texts);
  });

  it('findKeyShapes reads a file in JSON in a few passes', () => {
    const bytes = Uint8Array.from({ length: 750_000 }, (_, index) => Math.imul(index, 2654435761) >>> 13);
    const text = JSON.stringify({ data: base64(bytes), of: 'eyJ' });
    const pass = shortestTime(() => text.search(/[^ -~]/), 8);
    const read = shortestTime(() => findKeyShapes(text), 8);
    expect({ pass, read, isQuick: read < 30 * pass }).toEqual({ pass, read, isQuick: true });
  });
});

const entries = (count: number, of: (index: number) => readonly object[]) =>
  Array.from({ length: count }, (_, index) => of(index + 1).map((entry) => JSON.stringify({ at: index, ...entry })))
    .flat()
    .join('\n');

const start = '{"type":"start","run":1,"at":0,"kind":"run"}';

/** Recordings with many of something, and what reads them. */
const recordings: Readonly<
  Record<string, readonly [text: (count: number) => string, read: (text: string) => unknown]>
> = {
  'runs, in the inspector': [
    (count) => entries(count, (run) => [{ type: 'start', run, kind: 'run' }]),
    (text) => new InspectedRuns().add('a', text, true),
  ],
  'requests of a run': [
    (count) =>
      `{"type":"recording","version":2}\n${start}\n${entries(count, (request) => [
        { type: 'request', run: 1, request, model: { provider: 'p', name: 'm' }, earlier: 0, messages: [] },
        { type: 'requestEnd', run: 1, request, outcome: 'completed' },
      ])}`,
    (text) => readRecording(text),
  ],
  'calls without content, and without ids of their fragments': [
    (count) =>
      `{"type":"recording","version":2,"content":false}\n${start}\n${entries(count, (index) => [
        { type: 'chunk', run: 1, request: 1, value: { type: 'toolCallFragment', arguments: '' } },
        { type: 'event', run: 1, value: { type: 'toolCall', id: `c${index}`, name: 'pay', arguments: { a: 1 } } },
      ])}`,
    (text) => runOf(readRecording(text), {}),
  ],
};

/** What reads a recording of a stranger. */
const readersOfRecordings: Readonly<Record<string, (text: string) => unknown>> = {
  drawRun: (text) => drawRun(readRecording(text)),
  writeSpec: (text) => writeSpec(readRecording(text)),
  'the messages of its last request': (text) => readRecording(text).runs[0]?.requests.at(-1)?.messages,
  replayEvents: (text) => replayEvents(readRecording(text), { speed: Infinity }).subscribe({ error: () => undefined }),
  'the inspector': (text) => {
    const runs = new InspectedRuns();
    runs.add('a', text, true);
    return runs.textOf(1);
  },
};

const request = (number: number, earlier = 1e9, messages: readonly object[] = []) => ({
  ...{ type: 'request', run: 1, request: number, model: { provider: 'p', name: 'm' }, earlier, messages },
});
const chunk = (value: object, number = 1) => ({ type: 'both', run: 1, request: number, value });
const exchange = { type: 'exchange', after: [], exchange: { method: '', url: '', frames: [], body: 'hello' } };
const prompts = (count: number, text: string) =>
  Array.from({ length: count }, () => ({ role: 'user', parts: [{ type: 'text', text }] }));
const tool = (index: number) => ({ name: `tool_${index}`, description: '', parameters: {} });
const end = '{"type":"end","run":1,"at":99999,"outcome":"completed"}';

/** Lines with many of two things, each with all of the other if it is not read well. */
const hostile: Readonly<Record<string, (count: number) => string>> = {
  'requests that repeat messages without a text': (count) =>
    `${JSON.stringify({ at: 0, ...request(0, 0, prompts(count, '')) })}
${entries(count, (index) => [request(index)])}
${entries(count, () => [exchange])}`,
  'requests that repeat a long prompt': (count) =>
    `${JSON.stringify({ at: 0, ...request(0, 0, prompts(1, 'a'.repeat(30 * count))) })}
${entries(count, (index) => [request(index)])}
${entries(count, () => [exchange])}`,
  'open requests, and exchanges': (count) =>
    `${entries(count, (index) => [request(index, 0, prompts(1, 'hello'))])}
${entries(count, () => [{ ...exchange, at: count }])}`,
  'a long prompt, and a long body': (count) =>
    `${entries(2, (index) => [request(index, 0, prompts(1, `b${'a'.repeat(30 * count)}`))])}
${JSON.stringify({ ...exchange, at: 1, exchange: { ...exchange.exchange, body: 'a'.repeat(60 * count) } })}`,
  'ends of the first request': (count) =>
    `${entries(count, (index) => [request(index)])}
${entries(count, () => [{ type: 'requestEnd', run: 1, request: 1, outcome: 'completed' }])}`,
  'requests with one number, and chunks': (count) =>
    `${entries(count, () => [request(1)])}
${entries(count, () => [chunk({ type: 'text', text: 'a' })])}`,
  'requests with the same tools': (count) =>
    `${JSON.stringify({ at: 0, ...request(0), tools: Array.from({ length: count }, (_, index) => tool(index)) })}
${entries(count, (index) => [request(index)])}`,
  'tools, and calls that wait': (count) =>
    `${JSON.stringify({ at: 0, ...request(0), tools: Array.from({ length: count }, (_, index) => tool(index)) })}
${entries(count, (index) => [{ type: 'event', run: 1, value: { type: 'toolWaiting', id: `c${index}`, name: 'x', arguments: {} } }])}`,
  retractions: (count) =>
    `${JSON.stringify({ at: 0, ...request(1) })}
${entries(count, () => [chunk({ type: 'text', text: 'a' }), chunk({ type: 'retract', attempt: 1 })])}`,
  'retries that are retracted': (count) =>
    `${JSON.stringify({ at: 0, ...request(1) })}
${entries(count, (attempt) => [
  chunk({ type: 'retry', attempt, delay: 0, error: {} }),
  chunk({ type: 'text', text: 'a' }),
  chunk({ type: 'retract', attempt }),
])}`,
  'deltas that share a large value': (count) =>
    `${JSON.stringify({ at: 0, ...request(1) })}
${entries(1, () => [
  {
    ...{ type: 'deltas', run: 1, request: 1, of: 'both', field: 'text', after: [] },
    value: { type: 'text', text: '', more: 'y'.repeat(10 * count) },
    texts: Array.from({ length: count }, () => 'a'),
  },
])}`,
  'turns, and calls without a result': (count) =>
    entries(count, (turn) => [
      { type: 'event', run: 1, value: { type: 'toolStart', id: `c${turn}`, name: 'x', arguments: {} } },
      { type: 'event', run: 1, value: { type: 'turn', turn, finishReason: 'stop' } },
    ]),
};

/** Events of calls that a view does not have. */
const unknownCalls: Readonly<Record<string, (ids: readonly string[]) => readonly RunEvent[]>> = {
  'of their progress': (ids) => ids.map((id) => ({ type: 'toolProgress', id, name: 'pay', value: 1 })),
  'of their results': (ids) => ids.map((id) => ({ type: 'toolResult', id, name: 'pay', result: 1 })),
  'with all results in a message': (ids) => [
    { type: 'message', message: userMessage(ids.map((id) => ({ type: 'toolResult', id, name: 'pay', result: 1 }))) },
  ],
  'of an inner run': (ids) =>
    ids.map((id) => ({
      type: 'nested',
      id: 'c1',
      name: 'ask',
      event: { type: 'toolResult', id, name: 'pay', result: 1 },
    })),
};

/** Frames of a response whose fields have as many, or as long, names and indexes as a server likes. */
const foreignFrames: Readonly<Record<string, (size: number) => string>> = {
  'indexes and names in a line': (size) =>
    `data: {${repeated(size / 20, (index) => `"index":1,"${index}":""`).join(',')}}\n\n`,
  'lines with long indexes': (size) =>
    repeated(size / 40_000, (index) => `data: {"index":${'1'.repeat(39_000)}${index},"a":""}\n\n`).join(''),
  'long names': (size) =>
    `data: {${repeated(size / 20_000, (index) => `"${'a'.repeat(19_900)}${index}":""`).join(',')}}`,
  'lines with other indexes': (size) =>
    repeated(size / 30, (index) => `data: {"index":${index},"a":"sk-"}\n\n`).join(''),
};
const repeated = (count: number, of: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => of(1000 + index));

describe('the cost of recorded frames', () => {
  it.each(Object.entries(foreignFrames))(
    'redactFrames is linear in the length of a response, with many %s',
    (_, of) => {
      expectLinear(
        (frame) => redactFrames([frame], secrets),
        [100_000, 200_000, 400_000].map((size) => of(size)),
      );
    },
  );
});

const deltas = (text: string, ...streams: string[]) => ({ texts: [text], streams, entryOf: () => ({}) as never });

describe('the cost of a run with many texts that are open', () => {
  it.each<[string, (queue: EntryQueue) => void]>([
    ['other entries', (queue) => queue.push(deltas(''))],
    ['texts of another', (queue) => queue.push(deltas('Hello. ', 'run/:text'))],
    ['more of the first', (queue) => queue.push(deltas('{"a":"sk-', 'run/:arguments0', 'request1/:arguments0'))],
  ])('EntryQueue is linear in their number, with %s between them', (_, pushOther) => {
    const record = (count: number) => {
      const queue = new EntryQueue(secrets, () => undefined);
      for (let index = 0; index < count; index++) {
        queue.push(deltas('{"a":"sk-', `run/:arguments${index}`, `request1/:arguments${index}`));
        pushOther(queue);
        queue.flush();
      }
      queue.flush(['']);
    };
    expectLinear(record, [1000, 2000, 4000]);
  });
});

describe('the cost of recordings', () => {
  it.each(Object.entries(recordings))('a recording is read in linear time, with many %s', (_, [text, read]) => {
    expectLinear(
      read,
      [4000, 8000, 16_000].map((count) => text(count)),
    );
  });
});

describe('the cost of a recording of a stranger', () => {
  const rows = Object.keys(readersOfRecordings).flatMap((reader) =>
    Object.keys(hostile).map((what) => [reader, what] as const),
  );
  it.each(rows)('%s is linear in a recording with many %s', (reader, what) => {
    const texts = [1000, 2000, 4000].map(
      (count) => `{"type":"recording","version":2}\n${start}\n${hostile[what]?.(count) ?? ''}\n${end}`,
    );
    expectLinear(readersOfRecordings[reader] ?? (() => undefined), texts);
  });
});

/** What hides the tokens that a server has issued, in what it sends: both are as long as it likes. */
const hiding: Readonly<Record<string, (size: number) => readonly [secrets: readonly string[], text: string]>> = {
  'a secret of one character, and long parts of it': (size) => [
    ['a'.repeat(size / 4)],
    `${'a'.repeat(size / 12 - 1)}b`.repeat(12),
  ],
  'a secret of one character, and its text': (size) => [['a'.repeat(size / 4)], 'a'.repeat(size)],
  'a secret that ends with another character': (size) => [[`${'a'.repeat(size / 4)}b`], 'a'.repeat(size)],
  'a secret that begins with another character': (size) => [
    [`b${'a'.repeat(size / 4)}`.repeat(2)],
    `b${'a'.repeat(size / 4 - 1)}`.repeat(4),
  ],
  'many long secrets': (size) => [Array.from({ length: 30 }, (_, index) => digits(size / 4, index)), 'a short result'],
};

/** Without a repetition. */
const digits = (length: number, seed: number) =>
  Array.from({ length }, (_, index) => (Math.imul(index + seed * length, 2654435761) >>> 27).toString(36)).join('');

describe('the cost of hiding known secrets', () => {
  const sizes = [12, 24, 48].map((size) => size * 1024);

  it.each(Object.entries(hiding))('findSecrets is linear in text and secrets: %s', (_, inputOf) => {
    const inputs = sizes.map((size) => inputOf(size * 4));
    expectLinear(([known, text]) => findSecrets(text, known), inputs);
  });

  it.each(Object.entries(hiding))('KnownSecrets is linear in text and secrets: %s', (_, inputOf) => {
    expectLinear(([known, text]) => {
      const hider = new KnownSecrets();
      hider.add(known);
      hider.hide(text);
    }, sizes.map(inputOf));
  });
});

describe('the cost of foreign events', () => {
  it.each(Object.entries(unknownCalls))(
    'toView is linear in the number of events of unknown calls, %s',
    (_, events) => {
      const sizes = [1000, 2000, 4000].map((count) =>
        events(Array.from({ length: count }, (__, index) => `x${index}`)),
      );
      expectLinear((list) => from(list).pipe(toView()).subscribe(), sizes);
    },
  );
});
