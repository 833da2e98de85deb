import { lastValueFrom, toArray } from 'rxjs';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import type { JsonValue } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Model, ModelRequest } from '../../../lib/core/model.js';
import { tool, toolDefinition } from '../../../lib/core/tool.js';
import { accumulateToolCalls } from '../../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../../lib/operators/consolidate.js';
import type { ModelOptions } from '../../../lib/providers/httpModel.js';
import { modelByName, registeredProviders } from '../../../lib/providers/registry/index.js';
import { toolCall } from '../../../lib/testing/index.js';
import type { Script } from '../../../lib/testing/index.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { ServedTurn } from '../../../lib/testing/server/index.js';
import { fetchOf } from '../../protocol/wires.js';
import { outcome } from '../../support/outcome.js';
import type { Outcome } from '../../support/outcome.js';
import { key } from './family.js';
import type { createRandom } from './family.js';

/** The providers that are attacked: every wire, and every server that speaks one. */
export const wires = registeredProviders().map(({ name }) => name);

/** A tool without a schema, and one with a schema. */
export const tools = [
  tool({ name: 'look', description: 'Looks.', execute: () => 'seen' }),
  tool({
    name: 'weather',
    description: 'The weather.',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
    execute: ({ city }) => `It rains in ${JSON.stringify(city)}.`,
  }),
];

export const request: ModelRequest = { messages: [userMessage('How warm is it?')], tools: tools.map(toolDefinition) };

/** An answer with everything that every wire can express. */
export const answer: Script<ServedTurn> = () => [
  { type: 'thinking', text: 'Two look-ups.' },
  'Let me see: “Reykjavík” 🌧.',
  toolCall('weather', { city: 'Reykjavík', note: 'a "quoted" text\n' }, 'call_a'),
  toolCall('look', {}, 'call_b'),
  { type: 'finish', reason: 'toolCalls', usage: { input: 20, output: 10 } },
];

/** The response of a provider to `request`. */
export interface ServedBody {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** Returns the body with which the loopback server answers a provider. */
export async function bodyOf(wire: string, script: Script<ServedTurn> = answer): Promise<ServedBody> {
  const server = await serveModel(script);
  let body: ServedBody | undefined;
  const record: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const bytes = new Uint8Array(await response.arrayBuffer());
    body = { bytes, contentType: response.headers.get('content-type') ?? '' };
    return new Response(bytes, response);
  };
  try {
    const model = modelByName(wire, { baseUrl: server.urlFor(wire), apiKey: key, fetch: record, retry: false });
    await lastValueFrom(model.stream(request));
  } finally {
    await server.close();
  }
  if (!body) throw new Error(`${wire} sent no request.`);
  return body;
}

/** A model whose response has exactly these bytes, one element per read. */
export function modelOfBody(
  wire: string,
  reads: readonly Uint8Array[],
  contentType: string,
  options: ModelOptions = {},
): Model {
  const fetch = fetchOf(reads, { headers: { 'content-type': contentType } });
  return modelByName(wire, { apiKey: key, baseUrl: 'http://127.0.0.1:9/v1', fetch, retry: false, ...options });
}

/** The events of a response, after the operators of every turn. */
export const eventsOf = (model: Model): Promise<Outcome<StreamEvent>> =>
  outcome<StreamEvent>(model.stream(request).pipe(accumulateToolCalls(), consolidate()));

/** All chunks of a response. */
export const chunksOf = (model: Model): Promise<readonly Chunk[]> =>
  lastValueFrom(model.stream(request).pipe(toArray()));

const nested = (levels: number, open: string, close: string): string => open.repeat(levels) + close.repeat(levels);

/** JSON texts that replace a value. */
const replacements: readonly [string, ...string[]] = [
  'null',
  'true',
  '-1',
  '1e999',
  '9007199254740993',
  '""',
  '"null"',
  '"\\ud800"',
  '[]',
  '{}',
  '[null]',
  '[[{}]]',
  '{"type":null}',
  '{"__proto__":null}',
  '{"toString":1,"valueOf":2,"length":-1,"then":3}',
  nested(300, '[', ']'),
  nested(300, '{"a":', '}').replace(':}', ':1}'),
  nested(20_000, '[', ']'),
];

/** A JSON value as text, in which one value is replaced. */
export function replaceValue(root: JsonValue, random: ReturnType<typeof createRandom>): string {
  let count = 0;
  const countValues = (value: JsonValue): void => {
    count++;
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(countValues);
  };
  countValues(root);
  let left = random.integer(count);
  const write = (value: JsonValue): string => {
    if (left-- === 0) return random.pick(replacements);
    if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(write).join()}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    return `{${Object.entries(value)
      .map(([name, inner]) => `${JSON.stringify(name)}:${write(inner)}`)
      .join()}}`;
  };
  return write(root);
}
