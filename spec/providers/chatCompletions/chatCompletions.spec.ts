import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../../lib/core/message.js';
import { compatible } from '../../../lib/providers/chatCompletions/compatible.js';
import { chatCompletions } from '../../../lib/providers/chatCompletions/chatCompletions.js';
import { extractTextCalls } from '../../../lib/providers/shared/textCalls.js';
import { expectRecorded, wholeAnswer } from '../wholeAnswer.js';
import { openTool } from '../../checks/conformance/case.js';
import { pushThrough } from '../../support/pushThrough.js';
import { recordings } from '../../support/recordings.js';
import { read } from './reading.js';

const wire = chatCompletions('m', { ...compatible, provider: 'server' });

describe('chatCompletions', () => {
  it('chatCompletions encodes each message once', () => {
    const [question, reply, next] = [userMessage('Q'), modelMessage('R'), userMessage('S')];
    const messagesOf = (...messages: (typeof question)[]) =>
      wire.encode({ messages }).body['messages'] as readonly JsonObject[];
    const [first] = messagesOf(question);
    const again = messagesOf(question, reply, next);
    expect(again).toHaveLength(3);
    expect(again[0]).toBe(first);
  });
});

describe('chatCompletions: recorded streams', () => {
  const folders = ['openai-chat', 'openai-compatible', 'openrouter', 'together', 'mistral'].flatMap((name) => [
    `spec/recordings/${name}`,
    `../shared/recordings/${name}`,
  ]);
  it.each(folders.flatMap(recordings))('chatCompletions decodes $name completely', (recording) => {
    const tools = recording.expected.toolCalls.map(({ name }) => openTool(name));
    const decode = (emit: (chunk: Chunk) => void) => {
      const textCalls = pushThrough(extractTextCalls({ messages: [], tools }), emit);
      return wire.decode(recording.name.startsWith('together/') ? (chunk) => textCalls.next(chunk) : emit);
    };
    expectRecorded(recording, wholeAnswer(decode, recording.frames, true));
  });
});

interface Quirk {
  readonly id: string;
  readonly wire: string;
  readonly title: string;
  readonly options?: { readonly thinkTags?: boolean };
  readonly frames: readonly (string | { readonly end: string })[];
  readonly expected: {
    readonly text?: string;
    readonly thinking?: string;
    readonly finishReason?: string | readonly string[];
    readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
    readonly error?: boolean | string;
  };
}

const quirksFile = '../shared/quirks/visible.json';
if (existsSync(quirksFile)) {
  const { cases } = JSON.parse(readFileSync(quirksFile, 'utf8')) as { cases: Quirk[] };
  const quirks = cases.filter((quirk) => ['openai-chat', 'mistral'].includes(quirk.wire) && !quirk.options?.thinkTags);

  describe('chatCompletions: documented quirks', () => {
    it.each(quirks)('chatCompletions handles $id: $title', ({ frames, expected }) => {
      const data = frames.flatMap((line) =>
        typeof line === 'string' && line.startsWith('data: ') ? [line.slice('data: '.length).trim()] : [],
      );
      const payloads = data.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line) as JsonObject);
      const decoded = read(payloads, data.includes('[DONE]'));
      if (expected.text !== undefined) expect(decoded.text).toBe(expected.text);
      if (expected.thinking !== undefined) expect(decoded.thinking).toBe(expected.thinking);
      if (expected.error === false) expect(decoded.error).toBeUndefined();
      if (typeof expected.error === 'string')
        expect(String(decoded.error).toLowerCase()).toContain(expected.error.toLowerCase());
      const reasons: readonly unknown[] = [expected.finishReason ?? decoded.finish?.reason].flat();
      expect(reasons).toContain(decoded.error === undefined ? decoded.finish?.reason : 'error');
      if (expected.usage)
        expect(decoded.finish?.usage).toMatchObject({
          input: expected.usage.inputTokens,
          output: expected.usage.outputTokens,
        });
    });
  });
}
