import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { google } from '../../../lib/providers/google/google.js';
import { answering } from '../answering.js';
import { frame, read, replayed, stop } from './frames.js';

describe('PartDecoder', () => {
  it('PartDecoder keeps the signature of a text on its part, also of an empty one', () => {
    const text = (part: string, thoughtSignature?: string) =>
      frame([{ text: part, ...(thoughtSignature ? { thoughtSignature } : {}) }]);
    expect(replayed(text('The '), text('sea'), text('', 's'), stop)).toEqual([
      { text: 'The sea' },
      { text: '', thoughtSignature: 's' },
    ]);
    expect(replayed(text('The '), text('sea', 's1'), text(' is'), text(' calm.', 's2'), text(' Ok'), stop)).toEqual([
      { text: 'The ' },
      { text: 'sea', thoughtSignature: 's1' },
      { text: ' is' },
      { text: ' calm.', thoughtSignature: 's2' },
      { text: ' Ok' },
    ]);
  });

  it('PartDecoder keeps signed thoughts, code and its result in their places', () => {
    const thought = { text: 'Hm.', thought: true, thoughtSignature: 's' };
    const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } };
    const result = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } };
    const answer = [
      frame([thought, { text: 'I run it.' }]),
      frame([code]),
      frame([result]),
      frame([{ text: 'It is 1.' }]),
      stop,
    ] as const;
    expect(replayed(...answer)).toEqual([thought, { text: 'I run it.' }, code, result, { text: 'It is 1.' }]);
    const { chunks, text, thinking } = read(...answer);
    expect([thinking, text]).toEqual(['Hm.', 'I run it.It is 1.']);
    const raws = chunks.flatMap((chunk) =>
      chunk.type === 'metadata' ? ((chunk.metadata['serverTools'] ?? []) as readonly JsonObject[]) : [],
    );
    expect(raws.map(({ raw }) => raw)).toEqual([code, result]);
  });

  it('PartDecoder makes no message of a signature alone, so that an empty reply is recognized', () => {
    expect(read(frame([{ text: '', thoughtSignature: 's' }]), stop).message).toBeUndefined();
  });

  it('PartDecoder emits files, and keeps their signatures', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } };
    const { chunks } = read(
      frame([image, { ...image, thought: true }, { fileData: { mimeType: 'video/mp4', fileUri: 'https://x/y' } }]),
      stop,
    );
    expect(chunks.filter(({ type }) => type === 'file')).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'iVBORw0K' } },
      { type: 'file', file: { type: 'file', mediaType: 'video/mp4', url: 'https://x/y' } },
    ]);
    expect(replayed(frame([{ ...image, thoughtSignature: 's' }]), stop)).toEqual([{ ...image, thoughtSignature: 's' }]);
  });

  it('PartDecoder holds a signature on an empty text, which consolidate does not show to readers', async () => {
    const { fetch, requests } = answering({
      candidates: [
        { content: { parts: [{ text: 'Loire' }, { text: '', thoughtSignature: 's' }] }, finishReason: 'STOP' },
      ],
    });
    const agent = createAgent({ model: google('gemini-3-flash-preview', { apiKey: 'k', fetch }) });
    const events = await lastValueFrom(agent.stream('Name a river.').pipe(toArray()));
    expect(events.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', text: 'Loire' }]);
    const history = events.flatMap((event) => (event.type === 'message' ? [event.message] : []));
    await lastValueFrom(agent.stream('Another?', { history: [userMessage('Name a river.'), ...history] }));
    expect(requests[1]?.body).toMatchObject({
      contents: [{}, { parts: [{ text: 'Loire' }, { text: '', thoughtSignature: 's' }] }, {}],
    });
  });
});
