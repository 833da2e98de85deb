import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { base64, userMessage } from '../../../lib/core/message.js';
import { openaiChat } from '../../../lib/providers/openaiChat.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import { delta, frame, read } from './reading.js';

const files = (frames: Parameters<typeof read>[0]) =>
  read(frames).chunks.flatMap((chunk) => (chunk.type === 'file' ? [chunk.file] : []));

describe('AudioCollector', () => {
  const bytes = Uint8Array.from({ length: 40 }, (_, at) => at);
  const audio = (fields: JsonObject) => delta({ audio: fields });

  it('AudioCollector joins the fragments of audio to one file, and emits the transcript as text', () => {
    for (const cut of [3, 4, 20]) {
      const answer = read([
        audio({ id: 'audio_1' }),
        audio({ data: base64(bytes.slice(0, cut)), transcript: 'Hel' }),
        audio({ data: base64(bytes.slice(cut)) }),
        audio({ transcript: 'lo' }),
        audio({ expires_at: 1_700_000_000 }),
        delta({}, 'stop'),
      ]);
      expect(answer.text).toBe('Hello');
      expect(answer.chunks.filter(({ type }) => type === 'file')).toEqual([
        { type: 'file', file: { type: 'file', mediaType: 'audio/pcm', data: base64(bytes) } },
      ]);
      expect(answer.chunks.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    }
  });

  it.each([
    ['audio/wav', 'RIFF....WAVE'],
    ['audio/mpeg', 'ID3.'],
    ['audio/flac', 'fLaC'],
    ['audio/ogg', 'OggS'],
  ])('AudioCollector recognizes %s by its first bytes', (mediaType, text) => {
    expect(files([audio({ data: btoa(text) })])).toEqual([{ type: 'file', mediaType, data: btoa(text) }]);
  });

  it('AudioCollector reads the audio of a complete message once', () => {
    const message = { content: null, audio: { id: 'a', data: 'AQID', transcript: 'Hi', expires_at: 1 } };
    const answer = read([frame({ message, finish_reason: 'stop' })]);
    expect(answer.text).toBe('Hi');
    expect(files([audio({ data: 'AQID', transcript: 'Hi' }), frame({ message })])).toHaveLength(1);
  });

  it('AudioCollector reads audio that a server sends', async () => {
    const file = { type: 'file', mediaType: 'audio/pcm', data: base64(bytes) } as const;
    const server = await serveModel([[{ type: 'file', file }]]);
    const model = openaiChat('gpt-audio-mini', { apiKey: 'k', baseUrl: server.url });
    const chunks = await lastValueFrom(model.stream({ messages: [userMessage('Say hello.')] }).pipe(toArray()));
    await server.close();
    expect(chunks).toContainEqual({ type: 'file', file });
  });
});
