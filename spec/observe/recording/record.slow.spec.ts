import { expect, it } from '@jest/globals';
import { userMessage } from 'rivulet';
import { readRecording, record } from 'rivulet/recording';
import { inVirtualTime, scriptedModel, toolCall } from 'rivulet/testing';

it('record writes no line that is longer than its limit for a call with two million numbers', () => {
  const list = Array.from({ length: 100_000 }, (_, index) => index);
  const output = [toolCall('x', { list }), toolCall('x', { list: list.map(() => list.slice(0, 20)) })];
  const lines: string[] = [];
  const model = record(scriptedModel([output]), (line) => lines.push(line), { maxLineLength: 2000 });
  inVirtualTime(() => model.stream({ messages: [userMessage('Hello')] }));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(2000);
  expect(lines.filter((line) => line.includes('"cut":true'))).toHaveLength(2);
  expect(readRecording(lines).skipped).toBe(0);
});
