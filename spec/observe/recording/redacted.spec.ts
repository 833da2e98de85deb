import { describe, expect, it } from '@jest/globals';
import { maskContent } from '../../../lib/observe/recording/maskContent.js';
import { redactEntry } from '../../../lib/observe/recording/redactTexts.js';
import type { RecordingEntry } from '../../../lib/observe/recording/entries.js';

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
