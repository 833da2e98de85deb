import { describe, expect, it } from '@jest/globals';
import { catchError, EMPTY, ignoreElements, lastValueFrom, of } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Schema } from '../../lib/core/schema.js';
import { tool, toolDefinition } from '../../lib/core/tool.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { typed } from '../../lib/agent/typed.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../lib/providers/cohere/cohere.js';
import { google } from '../../lib/providers/google/google.js';
import { googleInteractions } from '../../lib/providers/googleInteractions/googleInteractions.js';
import { mistral } from '../../lib/providers/mistral.js';
import { ollama } from '../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openai } from '../../lib/providers/openai.js';

interface Json {
  readonly [key: string]: Json;
}

const sonnet: typeof openaiChat = (_, options) => anthropic('claude-sonnet-5-5', options);
const toolWires = { anthropic: sonnet, cohere, google, googleInteractions, mistral, ollama, openaiChat, openai };

const shape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('circle'), radius: z.number(), unit: z.string() }),
  z.object({ kind: z.literal('square'), side: z.number(), unit: z.string() }),
]);
const Tree = z.object({
  value: z.string(),
  get children() {
    return z.array(Tree);
  },
});
const linked = {
  type: 'object',
  properties: { a: { type: 'string', minLength: 2 }, b: { $ref: '#/properties/a', description: 'B' } },
  required: ['a', 'b'],
};
const schemas: Record<string, Schema> = {
  union: z.object({ shape }),
  'nullable enum': {
    type: 'object',
    properties: { level: { enum: ['low', 'high', null], type: ['string', 'null'], description: 'L' } },
    required: ['level'],
  },
  tuple: z.object({ pair: z.tuple([z.string(), z.number()]) }),
  constant: z.object({ text: z.literal('a'), count: z.literal(1), none: z.null(), yes: z.literal(true) }),
  limits: z.object({ n: z.number().int().min(1).max(5), s: z.string().min(2).regex(/^a/) }),
  linked,
  definitions: {
    type: 'object',
    properties: { a: { $ref: '#/definitions/A' } },
    required: ['a'],
    definitions: { A: { type: 'string' } },
  },
};

/** Sends one request, and returns its body, or the error before it. */
async function send(create: typeof openaiChat, agent: object): Promise<{ body?: Json; error?: Error }> {
  const bodies: Json[] = [];
  const fetch = (async (_: unknown, init?: RequestInit) => {
    bodies.push(JSON.parse(init?.body as string) as Json);
    return new Response('{}', { status: 400 });
  }) as typeof globalThis.fetch;
  const options: ModelOptions = { apiKey: 'k', fetch, retry: false };
  const run = createAgent({ ...agent, model: create('m', options) }).stream('Hi');
  const failure = run.pipe(
    ignoreElements(),
    catchError((error: unknown) => of(error as Error)),
  );
  const error = await lastValueFrom(failure, { defaultValue: undefined });
  return bodies[0] ? { body: bodies[0] } : error ? { error } : {};
}

/** Every schema within a schema, and not the names of properties. */
function* parts(schema: unknown): Generator<Record<string, unknown>> {
  if (typeof schema !== 'object' || schema === null) return;
  if (Array.isArray(schema)) {
    for (const part of schema) yield* parts(part);
    return;
  }
  yield schema as Record<string, unknown>;
  for (const [keyword, value] of Object.entries(schema)) {
    if (['properties', '$defs'].includes(keyword)) yield* parts(Object.values(value as object));
    else if (!['enum', 'const', 'required', 'type'].includes(keyword)) yield* parts(value);
  }
}

const anthropicRejects = 'oneOf prefixItems minimum maximum minLength maxItems not propertyNames definitions'.split(
  ' ',
);
const googleAccepts = new Set(
  (
    '$defs $ref type title description enum items prefixItems minItems maxItems minimum maximum anyOf properties format ' +
    'additionalProperties required'
  ).split(' '),
);

function anthropicProblems(schema: unknown): readonly string[] {
  return [...parts(schema)].flatMap((part) => [
    ...anthropicRejects.filter((keyword) => keyword in part),
    ...('enum' in part && Array.isArray(part['type']) ? ['enum beside a list of types'] : []),
    ...(part['type'] === 'object' && part['additionalProperties'] !== false ? ['an open object'] : []),
  ]);
}

function googleProblems(schema: unknown): readonly string[] {
  return [...parts(schema)].flatMap((part) => [
    ...Object.keys(part).filter((keyword) => !googleAccepts.has(keyword)),
    ...('$ref' in part && !/^#\/\$defs\/\w+$/.test(String(part['$ref'])) ? ['a reference outside $defs'] : []),
    ...('$ref' in part && Object.keys(part).length > 1 ? ['something beside $ref'] : []),
  ]);
}

const outputs: Record<string, [typeof openaiChat, (body: Json) => unknown, (schema: unknown) => readonly string[]]> = {
  anthropic: [sonnet, (body) => body['output_config']?.['format']?.['schema'], anthropicProblems],
  google: [google, (body) => body['generationConfig']?.['responseJsonSchema'], googleProblems],
  googleInteractions: [googleInteractions, (body) => body['response_format']?.['schema'], googleProblems],
};

describe('the schemas of a request', () => {
  it.each(Object.keys(outputs))('%s: an output has the keywords that the API accepts', async (wire) => {
    const [create, read, problems] = outputs[wire] ?? [openaiChat, () => undefined, () => []];
    for (const [name, schema] of Object.entries(schemas)) {
      const { body, error } = await send(create, { output: typed(schema) });
      const sent = body && read(body);
      expect([name, error, problems(sent)]).toEqual([name, undefined, []]);
      expect(sent).toMatchObject({ type: 'object' });
    }
  });

  it('anthropic: strict tools obey the rules of outputs', async () => {
    for (const [name, parameters] of Object.entries(schemas)) {
      const strict = { anthropic: { strict: true } };
      const tools = [tool({ name: 't', description: 'T', parameters, providerOptions: strict, execute: () => 1 })];
      const { body } = await send(sonnet, { tools });
      expect([name, anthropicProblems((body?.['tools'] as unknown as Json[])[0]?.['input_schema'])]).toEqual([
        name,
        [],
      ]);
    }
  });

  it('anthropic: a choice of types stays a choice, and a tuple a list', async () => {
    const read = async (name: string) => {
      const { body } = await send(sonnet, { output: typed(schemas[name] ?? {}) });
      return body?.['output_config']?.['format']?.['schema']?.['properties'];
    };
    expect(await read('nullable enum')).toEqual({
      level: { description: 'L', anyOf: [{ type: 'string', enum: ['low', 'high'] }, { type: 'null' }] },
    });
    expect(await read('union')).toMatchObject({
      shape: { anyOf: [{ properties: { kind: { const: 'circle' } } }, { properties: { kind: { const: 'square' } } }] },
    });
    expect(await read('tuple')).toMatchObject({
      pair: {
        items: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        description: expect.stringContaining('prefix'),
      },
    });
  });

  it.each([
    ['a schema that contains itself', z.object({ tree: Tree }), /The output: anthropic .*itself \(\$ref at "\$defs/],
    [
      'a record',
      z.object({ m: z.record(z.string(), z.number()) }),
      /a record \(additionalProperties at "properties.m"\)/,
    ],
  ])('anthropic: %s is an error before the request, with its path', async (_, schema, message) => {
    const { body, error } = await send(sonnet, { output: typed(schema) });
    expect(body).toBeUndefined();
    expect(error).toMatchObject({ code: 'configuration', subject: 'schema', message: expect.stringMatching(message) });
  });

  it('google: a recursive schema refers to $defs', async () => {
    const { body } = await send(google, { output: typed(Tree) });
    const sent = body?.['generationConfig']?.['responseJsonSchema'];
    expect(googleProblems(sent)).toEqual([]);
    expect(sent).toMatchObject({ type: 'object', $defs: { root: { properties: { value: { type: 'string' } } } } });
  });

  it('google: a result with a key $ref is sent as text, since it would refer to a file', async () => {
    const part = { type: 'toolResult', id: 'c', name: 't', result: { $ref: 'x' } } as const;
    const call = { type: 'toolCall', id: 'c', name: 't', arguments: {} } as const;
    const history = [
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { role: 'model', parts: [call] },
      { role: 'user', parts: [part] },
    ];
    const bodies: string[] = [];
    const fetch = (async (_: unknown, init?: RequestInit) => {
      bodies.push(init?.body as string);
      return new Response('{}', { status: 400 });
    }) as typeof globalThis.fetch;
    const chunks = google('m', { apiKey: 'k', fetch, retry: false }).stream({ messages: history as never });
    await lastValueFrom(chunks.pipe(catchError(() => EMPTY)), { defaultValue: undefined });
    expect(bodies[0]).toContain('"response":{"result":"{\\"$ref\\":\\"x\\"}"}');
  });

  it.each(Object.keys(toolWires))('%s: the parameters of a tool are an object without a choice', async (wire) => {
    const object = (name: string) => ({ type: 'object', properties: { [name]: { type: 'number' } }, required: [name] });
    const roots: Schema[] = [
      shape,
      z.object({ a: z.string() }).and(z.object({ b: z.string() })),
      { $ref: '#/$defs/A', $defs: { A: object('a') } },
      { oneOf: [{ $ref: '#/$defs/A' }, object('b')], $defs: { A: object('a') } },
      { type: 'object', anyOf: [object('a'), object('b')], not: object('c') },
    ];
    for (const parameters of roots) {
      const tools = [tool({ name: 't', description: 'T', parameters, execute: () => 1 })];
      const { body } = await send(toolWires[wire as 'openai'], { tools });
      const sent = [...parts(body?.['tools'])].find((part) => part['type'] === 'object');
      expect(Object.keys(sent ?? {})).not.toEqual(expect.arrayContaining([expect.stringMatching(/Of$|^\$ref|^not/)]));
      expect(Object.keys(sent?.['properties'] as object).length).toBeGreaterThan(0);
    }
  });

  it('the parameters of a union require what each member requires, and list the members', () => {
    const { parameters } = toolDefinition(tool({ name: 't', description: 'T', parameters: shape, execute: () => 1 }));
    expect(parameters).toEqual({
      type: 'object',
      description: 'One of: {kind: "circle", radius, unit}; {kind: "square", side, unit}.',
      properties: {
        kind: { type: 'string', enum: ['circle', 'square'] },
        radius: { type: 'number' },
        side: { type: 'number' },
        unit: { type: 'string' },
      },
      required: ['kind', 'unit'],
    });
  });
});
