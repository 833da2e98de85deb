import { describe, expect, it } from '@jest/globals';
import { ignoreElements, catchError, EMPTY, lastValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../lib/providers/cohere/cohere.js';
import { google } from '../../lib/providers/google/google.js';
import { googleInteractions } from '../../lib/providers/googleInteractions/googleInteractions.js';
import { mistral } from '../../lib/providers/mistral.js';
import { ollama } from '../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openai } from '../../lib/providers/openai.js';

const wires = { anthropic, cohere, google, googleInteractions, mistral, ollama, openaiChat, openai };

/** An escape of half a surrogate pair, at any depth of JSON within JSON. */
const half = /\\ud[89a-f]/i;

describe('the text of a request', () => {
  it.each(Object.keys(wires))('%s sends well-formed text, wherever a text is', async (wire) => {
    const bodies: string[] = [];
    const fetch = (async (_: unknown, init?: RequestInit) => {
      bodies.push(init?.body as string);
      return new Response('{}', { status: 400 });
    }) as typeof globalThis.fetch;
    const [cut, whole] = ['cut \ud83d here', 'kept \u{1f600}'];
    const parameters = { type: 'object', properties: { q: { type: 'string', description: cut } } } as const;
    const weather = tool({ name: 'weather', description: cut, parameters, execute: () => 1 });
    const answer: Message = {
      role: 'model',
      parts: [
        { type: 'text', text: cut },
        { type: 'toolCall', id: 'c1', name: 'weather', arguments: { q: cut, list: [cut, whole], [cut]: 1 } },
        { type: 'toolCall', id: 'c2', name: 'weather', arguments: {} },
      ],
    };
    const results: Message = {
      role: 'user',
      parts: [
        { type: 'toolResult', id: 'c1', name: 'weather', result: { text: cut, whole } },
        { type: 'toolResult', id: 'c2', name: 'weather', error: cut },
      ],
    };
    const model = wires[wire as 'openai']('m', { apiKey: 'k', fetch, retry: false });
    const run = createAgent({ model, tools: [weather], system: cut }).stream(whole, {
      history: [userMessage(cut), answer, results],
    });
    await lastValueFrom(
      run.pipe(
        ignoreElements(),
        catchError(() => EMPTY),
      ),
      { defaultValue: undefined },
    );
    expect(bodies).toHaveLength(1);
    expect(bodies[0]).not.toMatch(half);
    expect(bodies[0]?.match(/cut \ufffd here/g)?.length).toBeGreaterThanOrEqual(9);
    expect(bodies[0]?.match(/kept \u{1f600}/gu)).toHaveLength(3);
  });
});
