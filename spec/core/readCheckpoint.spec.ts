import { describe, expect, it } from '@jest/globals';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import { isRecord } from '../../lib/core/json/json.js';
import type { JsonValue } from '../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import { readCheckpoint } from '../../lib/core/readCheckpoint.js';

const call = { type: 'toolCall', id: 'c1', name: 'pay', arguments: { amount: 5 } } as const;
const other = { type: 'toolCall', id: 'c2', name: 'look', arguments: {} } as const;
const result = { type: 'toolResult', id: 'c2', name: 'look', result: 1 } as const;
const signature = { type: 'provider', provider: 'p', data: {} } as const;
const answer = modelMessage([{ type: 'text', text: 'I pay.' }, signature, call, other]);
const user = userMessage([
  { type: 'text', text: 'Pay!' },
  { type: 'file', mediaType: 'image/png', data: 'AAAA' },
  { type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' },
  { type: 'source', url: 'https://example.com', title: 'Example' },
]);
const open: Checkpoint = {
  version: 1,
  orchestrator: 'toolLoop',
  state: { messages: [user], turn: 2, usage: { input: 3 }, memo: { phase: 1 } },
  emitted: { text: 'I pay.', thinking: '', messages: [answer], metadata: { cost: 1 }, needsSeparator: false },
  open: {
    messages: [answer],
    finish: { reason: 'toolCalls', rawReason: 'tool_use', usage: { output: 2 } },
    metadata: { cost: 1 },
    results: [result],
    waiting: [{ id: 'c1', name: 'pay', arguments: { amount: 5 } }],
  },
};
const { open: _, ...between } = open;
const ended: Checkpoint = { ...between, ended: { finishReason: 'stop', rawReason: 'end', output: { n: 1 } } };
const read = (value: unknown) => readCheckpoint(JSON.parse(JSON.stringify(value)) as unknown, 'toolLoop');

/** The value with one field replaced; undefined removes it. */
function withField(value: JsonValue, [key = '', ...rest]: readonly string[], field: JsonValue | undefined): JsonValue {
  const replaced = (old: JsonValue) => (rest.length > 0 ? withField(old, rest, field) : (field as JsonValue));
  if (Array.isArray(value)) {
    const list = value as readonly JsonValue[];
    return list.map((entry, index) => (String(index) === key ? replaced(entry) : entry));
  }
  const record = value as Record<string, JsonValue>;
  return { ...record, [key]: replaced(record[key] ?? null) };
}

/** The paths of all fields and entries of a value. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (!isRecord(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => [[...path, key], ...pathsOf(field, [...path, key])]);
}

/** Fields that may be absent, and fields whose content is any JSON. */
const optional = /(metadata|memo|usage\.\w+|rawReason|title|open|ended|finish\.usage|output)$|\.3\.url$/;
const free = /(arguments|memo|metadata)\.|output|parts\.0\.result$|results\.0\.result$/;

describe('readCheckpoint', () => {
  it.each([
    ['within a turn', open],
    ['between two turns', between],
    ['after the last turn', ended],
  ])('readCheckpoint accepts a checkpoint %s, whatever the order of its keys', (_title, checkpoint) => {
    expect(read(checkpoint)).toEqual(checkpoint);
    const reversed = JSON.parse(
      JSON.stringify(checkpoint, (_key, field: unknown) =>
        isRecord(field) ? Object.fromEntries(Object.entries(field).reverse()) : field,
      ),
    ) as unknown;
    expect(readCheckpoint(reversed, 'toolLoop')).toEqual(checkpoint);
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'The value must be an object'],
    ['a text', 'checkpoint', 'The value must be an object'],
    ['an empty object', {}, 'version must be a number'],
    ['a newer version', { ...open, version: 2 }, 'has version 2, and this version of Rivulet reads version 1'],
    ['a checkpoint of another orchestrator', { ...open, orchestrator: 'twoPhase' }, 'of the orchestrator "twoPhase"'],
    ['a state of a run', open.state, 'version must be a number'],
    ['a checkpoint with open calls after the last turn', { ...ended, open: open.open }, 'ended must be absent'],
    [
      'a result of no call',
      withOpen({ results: [{ ...result, id: 'x' }] }),
      'open.results[0].id must be the id of a call',
    ],
    ['two results of a call', withOpen({ results: [result, result] }), 'open.results[1].id'],
    ['a waiting call with a result', withOpen({ waiting: [{ ...call, id: 'c2' }] }), 'without a result'],
    ['an unknown finish reason', withField(open as never, ['open', 'finish', 'reason'], 'toString'), 'a finish reason'],
    ['a negative count', withField(open as never, ['state', 'turn'], -1), 'state.turn must be a number of at least 0'],
  ])('readCheckpoint refuses %s, and says what is wrong', (_title, value, message) => {
    expect(() => read(value)).toThrow(
      expect.objectContaining({
        code: 'configuration',
        subject: 'checkpoint',
        message: expect.stringContaining(message),
      }),
    );
  });

  function withOpen(fields: object): unknown {
    return { ...open, open: { ...open.open, ...fields } };
  }

  it.each([
    ['within a turn', open],
    ['after the last turn', ended],
  ])('readCheckpoint refuses a checkpoint %s that lacks a field, or has another type in it', (_title, checkpoint) => {
    const isAccepted = (path: readonly string[], field: JsonValue | undefined) => {
      try {
        return Boolean(read(withField(checkpoint as unknown as JsonValue, path, field)));
      } catch (error) {
        expect(error).toMatchObject({ code: 'configuration' });
        return false;
      }
    };
    const fields = pathsOf(checkpoint).filter((path) => !free.test(path.join('.')));
    const required = fields.filter((path) => !/\d$/.test(path.join('.')) && !optional.test(path.join('.')));
    expect(required.filter((path) => isAccepted(path, undefined))).toEqual([]);
    expect(fields.filter((path) => isAccepted(path, [null]))).toEqual([]);
  });

  it('readCheckpoint names no content of the conversation in its errors', () => {
    const broken = withField(open as never, ['emitted', 'messages', '0', 'parts', '0', 'text'], { secret: 'I pay.' });
    expect(() => read(broken)).toThrow('emitted.messages[0].parts[0].text must be a string');
    expect(() => read(broken)).not.toThrow(/I pay/);
  });
});
