import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent.js';
import { filePart } from '../../lib/core/message.js';
import type { FilePart } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { modelByName } from '../../lib/registry/index.js';
import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';

const image = filePart(new Uint8Array([137, 80, 78, 71]), 'image/png');
const notes = filePart(new TextEncoder().encode('The Loire is long.'), 'text/plain', 'notes.txt');

/** Runs an agent whose tool returns a file, over a real socket. Returns the messages of the second request. */
async function secondRequest(provider: string, file: FilePart): Promise<unknown> {
  const server = await serveModel([[toolCall('look')], 'Seen.']);
  try {
    const model = modelByName(provider, { baseUrl: server.urlFor(provider), apiKey: 'key' });
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

  it('cohere reports an image in a result with an error that names the tool', async () => {
    await expect(secondRequest('cohere', image)).rejects.toMatchObject({
      code: 'configuration',
      subject: 'capability',
      message: expect.stringMatching(/cohere does not accept .*image\/png.*tool "look"/) as unknown,
    });
  });
});
