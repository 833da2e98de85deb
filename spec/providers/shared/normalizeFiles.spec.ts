import { describe, expect, it } from '@jest/globals';
import { catchError, lastValueFrom, of } from 'rxjs';
import type { FilePart, Message } from '../../../lib/core/message.js';
import { userMessage } from '../../../lib/core/message.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../../lib/providers/cohere/cohere.js';
import { google } from '../../../lib/providers/google/google.js';
import { googleInteractions } from '../../../lib/providers/googleInteractions/googleInteractions.js';
import { mistral } from '../../../lib/providers/mistral.js';
import { ollama } from '../../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../../lib/providers/openaiChat.js';
import { openai } from '../../../lib/providers/openai.js';
import { normalizeFiles } from '../../../lib/providers/shared/sendable.js';

const wires = { anthropic, cohere, google, googleInteractions, mistral, ollama, openaiChat, openai };
const names: Partial<Record<keyof typeof wires, string>> = { cohere: 'command-a-vision', google: 'gemini-3.8-flash' };

// 4 x 3 + 2 bytes, with both characters that the URL alphabet replaces.
const bytes = Uint8Array.from([255, 239, 190, 251, 240, 63, 1, 2, 3, 4, 5, 6, 7, 8]);
const data = Buffer.from(bytes).toString('base64');
const image = (part: { data?: string; mediaType?: string }): FilePart => ({
  type: 'file',
  mediaType: 'image/png',
  data,
  ...part,
});

const accepted: Record<string, FilePart> = {
  plain: image({}),
  'a prefix': image({ data: `data:image/png;base64,${data}` }),
  'a data URL': { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${data}` },
  'line breaks': image({ data: data.replace(/(.{4})/g, '$1\r\n') }),
  'the URL alphabet': image({ data: Buffer.from(bytes).toString('base64url') }),
  'no padding': image({ data: data.replace(/=+$/, '') }),
  'upper case': image({ mediaType: 'IMAGE/PNG' }),
};
const rejected: [data: string, problem: string][] = [
  ['', 'is empty'],
  ['\n', 'is empty'],
  ['<svg>', 'is not base64'],
  ['abcde', 'is not base64'],
  [`${data}!`, 'is not base64'],
  ['ab=cdef', 'is not base64'],
  ['data:image/png;base64,', 'is empty'],
];

/** Sends a message; returns the body, or the error. */
async function send(wire: string, messages: readonly Message[]): Promise<string | Error> {
  let body = '';
  const fetch = (async (_: unknown, init?: RequestInit) => {
    body = init?.body as string;
    return new Response('{}', { status: 400 });
  }) as typeof globalThis.fetch;
  const model = wires[wire as 'openai'](names[wire as 'openai'] ?? 'm', { apiKey: 'k', fetch, retry: false });
  const failure = model.stream({ messages }).pipe(catchError((error: unknown) => of(error as Error)));
  const error = await lastValueFrom(failure);
  return body === '' ? (error as Error) : body;
}

describe('normalizeFiles', () => {
  it.each(Object.keys(wires))('%s sends plain base64 and a lower-case type, and no empty text', async (wire) => {
    for (const [what, file] of Object.entries(accepted)) {
      const body = await send(wire, [userMessage([{ type: 'text', text: '' }, file])]);
      expect([what, body]).toEqual([what, expect.stringMatching(new RegExp(`[",]${data.replace(/[+/]/g, '\\$&')}"`))]);
      expect(body).not.toMatch(/"text":""|PNG|base64,data/);
    }
  });

  it.each(Object.keys(wires))('%s refuses what is not base64, or empty, before the request', async (wire) => {
    for (const [wrong, problem] of rejected)
      expect(await send(wire, [userMessage([image({ data: wrong })])])).toMatchObject({
        code: 'configuration',
        subject: 'options',
        message: expect.stringContaining(`The data of a image/png file ${problem}.`),
      });
  });

  it.each(Object.keys(wires))('%s tells the model of such a file in the result of a tool', async (wire) => {
    const call: Message = { role: 'model', parts: [{ type: 'toolCall', id: 'c', name: 't', arguments: {} }] };
    const result = (value: unknown): Message => ({
      role: 'user',
      parts: [{ type: 'toolResult', id: 'c', name: 't', result: value as never }],
    });
    for (const value of [image({ data: '<svg>' }), ['See', image({ data: '' })]])
      expect(await send(wire, [userMessage('Hi'), call, result(value)])).toMatch(/\[The data of a image\/png file is/);
  });

  it.each(Object.keys(wires))('%s sends the rest of an answer whose file is not base64, or empty', async (wire) => {
    for (const [wrong] of rejected) {
      const answer: Message = { role: 'model', parts: [{ type: 'text', text: 'Here.' }, image({ data: wrong })] };
      expect(await send(wire, [userMessage('Draw.'), answer, userMessage('Again.')])).toMatch(/Here\.[^]*Again\./);
    }
  });

  it('keeps messages that need no change, and the parameters of a type', () => {
    const messages = [userMessage([image({}), { type: 'text', text: 'Hi' }]), userMessage('')];
    for (const message of messages) expect(normalizeFiles(message)).toBe(message);
    const audio = normalizeFiles(userMessage([image({ mediaType: 'Audio/L16;Rate=24000' })]));
    expect(audio.parts[0]).toMatchObject({ mediaType: 'audio/l16;Rate=24000' });
    const jpg = normalizeFiles(userMessage([image({ mediaType: 'image/jpg' })]));
    expect(jpg.parts[0]).toMatchObject({ mediaType: 'image/jpeg' });
  });
});
