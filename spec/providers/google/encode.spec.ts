import { describe, expect, it } from '@jest/globals';
import { userMessage } from '../../../lib/core/message.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';

const messages = [userMessage('Hi')];
const body = (request: Partial<ModelRequest>) => encodeGoogle('gemini-2.5-flash', { messages, ...request }).body;
const config = (request: Partial<ModelRequest>) => body(request)['generationConfig'];
const parameters = { type: 'object', properties: { a: { type: 'number' } } };
const tools = [{ name: 'f', description: 'F.', parameters }];
const output = { type: 'object', properties: {} };

describe('encodeGoogle', () => {
  it('encodeGoogle sends only what the request sets', () => {
    expect(encodeGoogle('gemini-2.5-flash', { messages })).toEqual({
      path: '/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    });
  });

  it('encodeGoogle accepts a name with its folder', () => {
    expect(encodeGoogle('models/gemini-2.5-pro', { messages }).path).toBe(
      '/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    );
    expect(encodeGoogle('tunedModels/mine', { messages }).path).toBe('/tunedModels/mine:streamGenerateContent?alt=sse');
  });

  it.each(['', '..', 'a/../../x', 'models/../../x', 'models/', '/x', './x', 'a\ud800'])(
    'encodeGoogle refuses %j, which is not the name of a model',
    (name) => {
      expect(() => encodeGoogle(name, { messages })).toThrow(
        expect.objectContaining({ code: 'configuration', subject: 'options' }),
      );
    },
  );

  it('encodeGoogle encodes each segment of a name', () => {
    expect(encodeGoogle('a?b#c%2e\\d é', { messages }).path).toBe(
      '/models/a%3Fb%23c%252e%5Cd%20%C3%A9:streamGenerateContent?alt=sse',
    );
    expect(encodeGoogle('publishers/google/models/gemini-3', { messages }).path).toBe(
      '/publishers/google/models/gemini-3:streamGenerateContent?alt=sse',
    );
  });

  it('encodeGoogle has a field for each setting', () => {
    const settings = { temperature: 0, topP: 0.9, maxOutputTokens: 10, stopSequences: ['END'], seed: 7 };
    expect(config({ ...settings, output })).toEqual({
      temperature: 0,
      topP: 0.9,
      maxOutputTokens: 10,
      stopSequences: ['END'],
      seed: 7,
      responseMimeType: 'application/json',
      responseJsonSchema: output,
    });
    expect(body({ stopSequences: [] })).not.toHaveProperty('generationConfig');
  });

  it('encodeGoogle sends tools and the tool choice', () => {
    const empty = {
      name: 'now',
      description: 'Now.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    };
    expect(body({ tools: [...tools, empty] })).toMatchObject({
      tools: [
        {
          functionDeclarations: [
            { name: 'f', description: 'F.', parametersJsonSchema: parameters },
            { name: 'now', description: 'Now.' },
          ],
        },
      ],
    });
    expect(body({ tools })).not.toHaveProperty('toolConfig');
    const mode = (toolChoice: NonNullable<ModelRequest['toolChoice']>) => body({ tools, toolChoice })['toolConfig'];
    expect(mode('auto')).toEqual({ functionCallingConfig: { mode: 'AUTO' } });
    expect(mode('none')).toEqual({ functionCallingConfig: { mode: 'NONE' } });
    expect(mode('required')).toEqual({ functionCallingConfig: { mode: 'ANY' } });
    expect(mode({ name: 'f' })).toEqual({ functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } });
    expect(body({ toolChoice: 'required' })).toEqual(body({}));
  });

  it('encodeGoogle refuses parallelToolCalls: false, for which the API has no field', () => {
    expect(() => body({ tools, parallelToolCalls: false })).toThrow(/cannot disable parallel tool calls/);
  });

  it('encodeGoogle merges the options of a tool into its declaration', () => {
    const providerOptions = { google: { responseJsonSchema: { type: 'string' } }, 'openai-chat': { strict: true } };
    expect(body({ tools: tools.map((tool) => ({ ...tool, providerOptions })) })['tools']).toEqual([
      {
        functionDeclarations: [
          { name: 'f', description: 'F.', parametersJsonSchema: parameters, responseJsonSchema: { type: 'string' } },
        ],
      },
    ]);
  });
});
