import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import type { Request } from '../../../lib/core/model.js';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';
import type { ModelOptions } from '../../../lib/providers/httpModel.js';
import { google } from '../../../lib/providers/google/google.js';
import { answering } from '../answering.js';

const messages = [userMessage('Hi')];
const body = (request: Partial<Request>, model = 'gemini-2.5-flash') =>
  encodeGoogle(model, { messages, ...request }).body;
const contents = (conversation: readonly Message[], model?: string) =>
  body({ messages: conversation }, model)['contents'];
const config = (request: Partial<Request>, model?: string) => body(request, model)['generationConfig'];
const thinking = (model: string, wish: Request['thinking']) =>
  (config(wish === undefined ? {} : { thinking: wish }, model) as JsonObject | undefined)?.['thinkingConfig'];
const parameters = { type: 'object', properties: { a: { type: 'number' } } };
const tools = [{ name: 'f', description: 'F.', parameters }];
const output = { type: 'object', properties: {} };

describe('google: the request', () => {
  it('says nothing that was not asked for', () => {
    expect(encodeGoogle('gemini-2.5-flash', { messages })).toEqual({
      path: '/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    });
  });

  it('takes a name with its folder', () => {
    expect(encodeGoogle('models/gemini-2.5-pro', { messages }).path).toBe(
      '/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    );
    expect(encodeGoogle('tunedModels/mine', { messages }).path).toBe('/tunedModels/mine:streamGenerateContent?alt=sse');
  });

  it('puts each setting in its field', () => {
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

  it('declares tools, and how they are to be used', () => {
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
    const mode = (toolChoice: NonNullable<Request['toolChoice']>) => body({ tools, toolChoice })['toolConfig'];
    expect(mode('auto')).toEqual({ functionCallingConfig: { mode: 'AUTO' } });
    expect(mode('none')).toEqual({ functionCallingConfig: { mode: 'NONE' } });
    expect(mode('required')).toEqual({ functionCallingConfig: { mode: 'ANY' } });
    expect(mode({ name: 'f' })).toEqual({ functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } });
    expect(body({ toolChoice: 'required' })).toEqual(body({}));
  });

  it('refuses tools together with a schema where the model does, unless it is said that it does not', async () => {
    const { fetch, seen } = answering({ candidates: [{ finishReason: 'STOP' }] });
    const both = (name: string, options: ModelOptions = {}) =>
      lastValueFrom(google(name, { apiKey: 'k', fetch, ...options }).stream({ messages, tools, output }));
    await expect(both('gemini-2.5-flash')).rejects.toMatchObject({ code: 'configuration', subject: 'capability' });
    expect(seen).toEqual([]);
    await both('gemini-3-pro-preview');
    await both('gemini-2.5-flash', { capabilities: { typedOutputWithTools: true } });
    expect(seen.map(({ body: sent }) => sent)).toMatchObject(
      [0, 1].map(() => ({ tools: [{}], generationConfig: { responseJsonSchema: output } })),
    );
    expect(google('gemini-2.5-flash').capabilities).toMatchObject({ typedOutputWithTools: false, thinking: true });
    expect(google('models/gemini-3.1-pro').capabilities).toMatchObject({ typedOutputWithTools: true });
    expect(google('gemini-flash-latest').capabilities).not.toHaveProperty('typedOutputWithTools');
  });

  it('refuses a wish that the API has no field for', () => {
    expect(() => body({ tools, parallelToolCalls: false })).toThrow(/no field that forbids several calls/);
  });

  it('asks for thinking as the model takes it', () => {
    expect(thinking('gemini-2.5-flash', undefined)).toBeUndefined();
    expect(thinking('gemini-2.5-flash', true)).toEqual({ includeThoughts: true, thinkingBudget: -1 });
    expect(thinking('gemini-2.5-flash', false)).toEqual({ thinkingBudget: 0 });
    expect(thinking('gemini-2.5-flash', { effort: 'medium' })).toEqual({ includeThoughts: true, thinkingBudget: 8192 });
    expect(thinking('gemini-2.5-flash', { effort: 'low', budget: 99 })).toEqual({
      includeThoughts: true,
      thinkingBudget: 99,
    });
    expect(thinking('gemini-3-flash-preview', true)).toEqual({ includeThoughts: true });
    expect(thinking('gemini-3-flash-preview', false)).toEqual({ thinkingLevel: 'minimal' });
    expect(thinking('gemini-3-pro-preview', { effort: 'low', budget: 99 })).toEqual({
      includeThoughts: true,
      thinkingLevel: 'low',
    });
    expect(thinking('gemini-3-pro-preview', { budget: 99 })).toEqual({ includeThoughts: true, thinkingBudget: 99 });
    expect(() => thinking('gemini-2.5-pro', false)).toThrow(/gemini-2.5-pro cannot be asked not to think.*Flash/);
  });
});

describe('google: the conversation', () => {
  it('sends instructions apart, and files as bytes or by address', () => {
    const file = { type: 'file', mediaType: 'application/pdf' } as const;
    const conversation = [
      systemMessage('Be brief.'),
      userMessage([
        { type: 'text', text: 'Read.' },
        { ...file, data: 'JVBERi0=' },
        { ...file, url: 'https://x/y.pdf' },
        { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0K' },
      ]),
    ];
    expect(body({ messages: conversation })).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'Read.' },
            { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
            { fileData: { mimeType: 'application/pdf', fileUri: 'https://x/y.pdf' } },
            { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } },
          ],
        },
      ],
    });
  });

  const foreign = (id: string, name = 'f') =>
    ({
      type: 'toolCall',
      id,
      name,
      arguments: { a: 1 },
      providerData: { anthropic: { signature: 'no' }, openai: { id } },
    }) as const;
  const result = (id: string, name = 'f') => ({ type: 'toolResult', id, name, result: [1] }) as const;

  it('answers calls in their order, in a content of its own', () => {
    const conversation = [
      userMessage('Go'),
      modelMessage([{ type: 'source', url: 'https://x' }, foreign('c1'), foreign('c2', 'g')]),
      userMessage([
        { type: 'toolResult', id: 'c2', name: 'g', error: 'no' },
        result('c1'),
        { type: 'text', text: 'And?' },
      ]),
    ];
    expect(contents(conversation)).toEqual([
      { role: 'user', parts: [{ text: 'Go' }] },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'f', args: { a: 1 } } }, { functionCall: { name: 'g', args: { a: 1 } } }],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: { result: [1] } } },
          { functionResponse: { name: 'g', response: { error: 'no' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'And?' }] },
    ]);
  });

  it('gives Gemini 3 the documented stand-in for signatures that another model did not make, in the current turn', () => {
    const turn = (id: string) => [
      modelMessage([foreign(id), foreign(`${id}b`)]),
      userMessage([result(id), result(`${id}b`)]),
    ];
    const conversation = [
      userMessage('One'),
      ...turn('a'),
      modelMessage('Done.'),
      userMessage('Two'),
      ...turn('b'),
      ...turn('c'),
    ];
    const signatures = (model: string) =>
      (contents(conversation, model) as readonly { readonly role: string; readonly parts: readonly JsonObject[] }[])
        .filter(({ parts }) => parts.some((part) => part['functionCall']))
        .map(({ parts }) => parts.map((part) => part['thoughtSignature']));
    const standIn = ['skip_thought_signature_validator', undefined];
    expect(signatures('gemini-3-pro-preview')).toEqual([[undefined, undefined], standIn, standIn]);
    expect(signatures('gemini-2.5-pro')).toEqual([1, 2, 3].map(() => [undefined, undefined]));
  });

  it('leaves out what says nothing', () => {
    const conversation = [
      userMessage([{ type: 'text', text: '' }]),
      modelMessage([{ type: 'source', url: 'https://x' }]),
      userMessage('Hi'),
    ];
    expect(contents(conversation)).toEqual([{ role: 'user', parts: [{ text: 'Hi' }] }]);
  });
});
