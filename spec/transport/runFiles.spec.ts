import { describe, expect, it } from '@jest/globals';
import { filePart, userMessage } from '../../lib/core/message.js';
import { fileAddress, filesIn, readFileAddress } from '../../lib/transport/runFiles.js';
import { isUnguessable } from '../../lib/transport/randomId.js';

const run = '00112233445566778899aabbccddeeff';
const uuid = '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d';

describe('the address of a file of a run', () => {
  it.each([
    ['/api/chat', { run, index: 0 }, `/api/chat?file=${run}.0`],
    ['https://a.test/?x=1', { run: uuid, index: 12 }, `https://a.test/?x=1&file=${uuid}.12`],
  ])('fileAddress(%j, %j) is %j, and is read again', (url, file, address) => {
    expect(fileAddress(url, file)).toBe(address);
    expect(readFileAddress(address)).toEqual(file);
  });

  it.each([
    ['/api/chat', 'has no file'],
    [`/api/chat?file=${run}`, 'has no number'],
    [`/api/chat?file=${run}.`, 'has no number'],
    [`/api/chat?file=${run}.1x`, 'has more than a number'],
    [`/api/chat?file=${run}.1234567`, 'has a number that no run has'],
    [`/api/chat?file=${run.slice(1)}.1`, 'has a short id'],
    [`/api/chat?file=g${run.slice(1)}.1`, 'has an id with other letters'],
    [`/api/chat?profile=${run}.1`, 'has another parameter'],
    [`/api/chat?file=${run}.1&x=1`, 'has a parameter after it'],
  ])('readFileAddress reads nothing from %s, which %s', (address) => {
    expect(readFileAddress(address)).toBeUndefined();
  });

  it('filesIn has the files of messages in their order', () => {
    const [a, b] = [1, 2].map((byte) => filePart(new Uint8Array([byte]), 'image/png'));
    if (!a || !b) throw new Error('There are two files.');
    expect(filesIn([userMessage([a]), userMessage('and'), userMessage([b, { type: 'text', text: 'so' }])])).toEqual([
      a,
      b,
    ]);
  });
});

describe('isUnguessable', () => {
  it.each([
    [run, true],
    [run.toUpperCase(), true],
    [uuid, true],
    [run.slice(1), false],
    [`${run}0`, false],
    [`${run}-`, true],
    [`${run.slice(1)}-`, false],
    [`x${run.slice(1)}`, false],
    [`${run}\n`, false],
    ['', false],
  ])('isUnguessable(%j) is %s', (id, expected) => {
    expect(isUnguessable(id)).toBe(expected);
  });
});
