import { describe, expect, it } from '@jest/globals';
import { maskContent } from '../../../lib/observe/recording/maskContent.js';
import { redactEntry } from '../../../lib/observe/recording/redactTexts.js';
import type { RecordingEntry } from '../../../lib/observe/recording/entries.js';
import { RecordingOutput } from '../../../lib/observe/recording/recordingOutput.js';
import { RunRecorder } from '../../../lib/observe/recording/runRecorder.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import type { KnownEvent } from '../../../lib/core/eventGuards.js';

const secret = 'a password of mine';
const result = (value: object): RecordingEntry => ({
  type: 'event',
  run: 1,
  at: 1,
  value: { type: 'toolResult', id: 'c1', name: 'read', result: value } as never,
});

describe('what a recording does not keep', () => {
  it.each<[string, object, object]>([
    ['a secret that is the name of a field', { [secret]: 1 }, { '[key]': 1 }],
    ['a secret that is the name of an inner field', { rows: [{ [secret]: true }] }, { rows: [{ '[key]': true }] }],
    ['a secret in a field named as the count of tokens', { usage: secret }, { usage: '[key]' }],
    ['a secret within such a field', { usage: { by: [secret], input: 1 } }, { usage: { by: ['[key]'], input: 1 } }],
    ['a secret in a text', { said: `It is ${secret}.` }, { said: 'It is [key].' }],
  ])('%s', (_name, before, after) => {
    expect(redactEntry(result(before), [secret])).toEqual(result(after));
  });

  it.each<[string, object, object]>([
    ['numbers become 0', { degrees: 21, rows: [1, -2.5] }, { degrees: 0, rows: [0, 0] }],
    ['texts become dots of their length', { city: 'Oslo' }, { city: '····' }],
  ])('without content, %s', (_name, before, after) => {
    expect(maskContent(result(before))).toEqual(result(after));
  });
});

const json = { place: 'a', rows: [{ 'first name': 'b' }] };
const call = { id: 'a', name: 'b' };
const error = { name: 'a', message: 'b', more: json };
const parts = [
  { type: 'text', text: 'a' },
  { type: 'file', mediaType: 'a', data: 'b', name: 'c' },
  { type: 'source', url: 'a', title: 'b' },
  { type: 'provider', provider: 'a', data: json },
  { type: 'toolCall', ...call, arguments: json },
  { type: 'toolResult', ...call, result: json },
];
const messages = [{ role: 'a', parts }];

/** What a run or a model may emit, with a text wherever it may have one. */
const values: Readonly<Record<KnownEvent['type'], object>> = {
  text: { text: 'a', prefix: 'b' },
  thinking: { text: 'a' },
  toolCallFragment: { index: 'a', id: 'b', name: 'c', arguments: 'd', providerData: json },
  file: { file: parts[1] },
  source: { source: parts[2] },
  metadata: { metadata: json },
  provider: { provider: 'a', data: json },
  retract: { more: 'a' },
  retry: { attempt: 1, delay: 1, error, next: { provider: 'a', name: 'b' } },
  finish: { reason: 'a', rawReason: 'b', usage: { more: 'c' } },
  toolCall: { ...call, arguments: json },
  toolWaiting: { ...call, arguments: json, path: ['c'], details: json, question: { message: 'a', schema: json } },
  toolStart: { ...call, arguments: json },
  toolProgress: { ...call, value: json },
  toolUsage: { ...call, usage: { more: 'c' } },
  nested: { ...call, event: { type: 'toolCallFragment', id: 'a', name: 'b', arguments: 'c' } },
  toolResult: { ...call, error: 'c', code: 'd', data: json, reason: 'e' },
  message: { message: messages[0] },
  turn: { turn: 1, finishReason: 'a', rawReason: 'b', metadata: json, output: json },
  checkpoint: {},
  openCalls: { finish: { reason: 'a' } },
  result: { result: { text: 'a', answer: 'b', thinking: 'c', output: json, messages, metadata: json } },
};

/** Copies of a value, each of which has the secret as another of its texts, or as another name of a field. */
function* withSecrets(value: unknown): Iterable<unknown> {
  if (typeof value === 'string') yield `x ${secret} y`;
  if (typeof value !== 'object' || value === null) return;
  for (const [field, inner] of Object.entries(value) as [string, unknown][]) {
    for (const changed of withSecrets(inner))
      yield Array.isArray(value)
        ? value.map((item: unknown) => (item === inner ? changed : item))
        : { ...value, [field]: changed };
    if (field.includes(' ')) yield { [secret]: inner };
  }
}

const written = (write: (recorder: RunRecorder) => void): string => {
  const lines: string[] = [];
  const recorder = new RunRecorder(new RecordingOutput((line) => lines.push(line), { secrets: [secret] }), 1);
  write(recorder);
  recorder.end('completed');
  const entries = lines.slice(1, -1).join('\n');
  return entries.replace(/"(?:at|recorder)":[^,}]+/g, '');
};

describe('the texts of an event', () => {
  /** With all fields, and without each of them: an inner event cannot be missing. */
  const rows = Object.entries(values).flatMap(([type, value]) =>
    [undefined, ...Object.keys(value).filter((field) => field !== 'event')].flatMap((left) => {
      const some = Object.fromEntries(Object.entries(value).filter(([field]) => field !== left));
      return [...withSecrets(some)].map((one) => [type, one as object] as const);
    }),
  );

  it.each(rows)('%s: a recording keeps no secret of %j', (type, value) => {
    const event = { ...value, type } as StreamEvent;
    const lines = [
      written((recorder) => recorder.event(event)),
      written((recorder) => recorder.chunk(1, event)),
      written((recorder) => {
        for (const both of [event, event]) {
          recorder.chunk(1, both);
          recorder.event(both);
        }
      }),
    ];
    for (const line of lines) {
      expect(line).not.toContain(secret);
      expect(line).toContain('[key]');
    }
  });

  const fragment = (fields: object) => ({ type: 'toolCallFragment', ...fields });
  it.each<[string, (text: string, other: string) => readonly object[]]>([
    ['their index', (a, b) => [fragment({ index: 0, arguments: a }), fragment({ index: 1, arguments: b })]],
    ['their id', (a, b) => [fragment({ id: 'a', arguments: a }), fragment({ id: 'b', arguments: b })]],
    [
      'their id, at one index',
      (a, b) => [fragment({ index: 0, id: 'a', arguments: a }), fragment({ index: 0, id: 'b', arguments: b })],
    ],
    [
      'the call around them',
      (a, b) => [
        { type: 'nested', id: 'a', name: 'x', event: fragment({ index: 0, arguments: a }) },
        { type: 'nested', id: 'b', name: 'x', event: fragment({ index: 0, arguments: b }) },
      ],
    ],
  ])('a recording keeps no secret of calls that alternate, and differ in %s', (_, pair) => {
    const kept = (texts: Iterable<string>) =>
      written((recorder) => {
        for (const text of texts) for (const event of pair(text, 'q')) recorder.event(event as StreamEvent);
      });
    const lines = kept(secret);
    expect(lines).toContain('[key]');
    expect(lines).toBe(kept(['[key]', ...Array<string>(secret.length - 1).fill('')]));
  });
});
