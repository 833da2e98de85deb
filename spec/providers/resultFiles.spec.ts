import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { filePart } from '../../lib/core/message.js';
import type { FilePart } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { modelByName, registeredProviders } from '../../lib/providers/registry/index.js';
import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';

const image = filePart(new Uint8Array([137, 80, 78, 71]), 'image/png');
const video = filePart(new Uint8Array([1]), 'video/mp4', 'clip.mp4');
const pdf = filePart(new Uint8Array([1]), 'application/pdf');
const remote: FilePart = { type: 'file', mediaType: 'image/png', url: 'https://a.example/b.png' };
const notes = filePart(new TextEncoder().encode('The Loire is long.'), 'text/plain', 'notes.txt');

/** Runs an agent whose tool returns a file, over a real socket. Returns the messages of the second request. */
async function secondRequest(provider: string, file: FilePart, options: ModelOptions = {}): Promise<unknown> {
  const server = await serveModel([[toolCall('look')], 'Seen.']);
  try {
    const model = modelByName(provider, { baseUrl: server.urlFor(provider), apiKey: 'key', ...options });
    const look = tool({ name: 'look', description: 'Looks.', execute: () => ['See', file] });
    const result = await lastValueFrom(createAgent({ model, tools: [look] }).run('Look.'));
    expect(result.text).toBe('Seen.');
    return (server.requests[1]?.body as { readonly messages: unknown }).messages;
  } finally {
    await server.close();
  }
}

describe('a tool that returns a file, over HTTP', () => {
  it('mistral receives an image in the result', async () => {
    expect(await secondRequest('mistral', image)).toMatchObject([
      {},
      {},
      {
        role: 'tool',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: 'data:image/png;base64,iVBORw==' },
        ],
      },
    ]);
  });

  it('ollama receives an image in the result', async () => {
    const result = { role: 'tool', tool_name: 'look', content: 'See', images: ['iVBORw=='] };
    expect(await secondRequest('ollama', image)).toMatchObject([{}, {}, result]);
  });

  it('cohere receives a text file of the result as a document', async () => {
    const document = { data: { title: 'notes.txt', text: 'The Loire is long.' } };
    expect(await secondRequest('cohere', notes)).toMatchObject([
      {},
      {},
      {
        role: 'tool',
        content: [
          { type: 'text', text: 'See' },
          { type: 'document', document },
        ],
      },
    ]);
  });

  it.each(['openai-chat', 'together'])(
    '%s receives an image in a message of the user after the result',
    async (name) => {
      const reference = 'See\n[File 1: image/png. It is in the next message.]';
      expect(await secondRequest(name, image)).toMatchObject([
        {},
        {},
        { role: 'tool', content: reference },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'File 1, from the result of the tool "look":' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw==' } },
          ],
        },
      ]);
    },
  );

  it.each([
    ['cohere', image, 'See\n[File: image/png. It cannot be shown to this model.]'],
    ['openai-chat', video, 'See\n[File: clip.mp4 (video/mp4). It cannot be shown to this model.]'],
    ['ollama', remote, 'See\n[File: image/png. It cannot be shown to this model. Its URL: https://a.example/b.png]'],
    ['together', pdf, 'See\n[File: application/pdf. It cannot be shown to this model.]'],
  ])('%s is told that a file cannot be shown', async (name, file, content) => {
    expect(await secondRequest(name, file)).toMatchObject([{}, {}, { role: 'tool', content }]);
  });

  it('a model without vision is told that an image cannot be shown', async () => {
    const content = 'See\n[File: image/png. It cannot be shown to this model.]';
    const capabilities = { vision: false };
    expect(await secondRequest('openai-chat', image, { capabilities })).toMatchObject([
      {},
      {},
      { role: 'tool', content },
    ]);
  });

  it.each(registeredProviders().map(({ name }) => name))('%s ends no run because of such a file', async (name) => {
    const audio = filePart(new Uint8Array([1]), 'audio/wav');
    const zip = filePart(new Uint8Array([1]), 'application/zip', 'a.zip');
    const page: FilePart = { type: 'file', mediaType: 'text/html', url: 'https://a.example' };
    for (const file of [image, notes, video, remote, pdf, audio, zip, page]) await secondRequest(name, file);
  });
});
