import fc from 'fast-check';
import { catchError, firstValueFrom, lastValueFrom, of, tap } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import { isJsonObject, isRecord, nonEmptyString } from '../../lib/core/json/json.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { filePart, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message, Part } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool, toolDefinition } from '../../lib/core/tool.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../lib/providers/cohere/cohere.js';
import { google } from '../../lib/providers/google/google.js';
import { googleInteractions } from '../../lib/providers/googleInteractions/googleInteractions.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { mistral } from '../../lib/providers/mistral.js';
import { ollama } from '../../lib/providers/ollama/ollama.js';
import { openai } from '../../lib/providers/openai.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openrouter } from '../../lib/providers/openrouter.js';
import { together } from '../../lib/providers/together.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { anthropic as anthropicDialect } from '../../lib/testing/server/dialects/anthropic/anthropic.js';
import { chatCompletions } from '../../lib/testing/server/dialects/chatCompletions/chatCompletions.js';
import {
  mistral as mistralDialect,
  openrouter as openrouterDialect,
} from '../../lib/testing/server/dialects/chatCompletions/variant.js';
import { cohere as cohereDialect } from '../../lib/testing/server/dialects/cohere/cohere.js';
import type { Dialect } from '../../lib/testing/server/dialects/dialect.js';
import { google as googleDialect } from '../../lib/testing/server/dialects/google/google.js';
import { googleInteractions as interactionsDialect } from '../../lib/testing/server/dialects/googleInteractions/googleInteractions.js';
import { ollama as ollamaDialect } from '../../lib/testing/server/dialects/ollama/ollama.js';
import { responses } from '../../lib/testing/server/dialects/responses/responses.js';

// Random runs of an agent, as bad models, tools and people make them, and the documented rules of each provider for the
// request that continues them.

/** The wires: how a model is made, and the dialect that knows what the provider refuses. */
export const wires: Readonly<Record<string, readonly [make: (options: ModelOptions) => Model, dialect: Dialect]>> = {
  openai: [(options) => openai('gpt-6.1-terra', options), responses],
  openaiChat: [(options) => openaiChat('gpt-6.1-terra', options), chatCompletions],
  anthropic: [(options) => anthropic('claude-sonnet-5-5', options), anthropicDialect],
  google: [(options) => google('gemini-3.8-flash', options), googleDialect],
  googleInteractions: [(options) => googleInteractions('gemini-3.8-flash', options), interactionsDialect],
  mistral: [(options) => mistral('mistral-small-latest', options), mistralDialect],
  cohere: [
    (options) => cohere('command-a-plus-05-2026', { ...options, capabilities: { vision: true } }),
    cohereDialect,
  ],
  ollama: [(options) => ollama('qwen3', options), ollamaDialect],
  openrouter: [(options) => openrouter('openrouter/auto', options), openrouterDialect],
  together: [(options) => together('meta-llama/Llama-3.3-70B-Instruct-Turbo', options), chatCompletions],
};

const text = fc.oneof(
  fc.constantFrom('', ' ', '\n', 'cut \ud83d', '\ude00 late', 'ok \u{1f600}', '\u0000\u001b[31m', '<think>', '{"a":1}'),
  fc.string({ maxLength: 12, unit: 'binary' }),
);
const toolName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('look', 'draw', 'choose') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('functions.look', 'look<|channel|>commentary', 'wetter_für_köln', '1st', ''),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 90, unit: 'binary' }) },
);
const callId = fc.constantFrom('', 'c1', 'c1', 'call_1', 'functions.look:0', 'ü', '\ud83d', 'x'.repeat(200), 'toolu 1');
const json = fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' });
const args = fc.oneof(
  fc
    .dictionary(fc.oneof(text, fc.constantFrom('$ref', 'city', '__proto__')), json, { maxKeys: 3 })
    .map((object) => JSON.stringify(object)),
  fc.constantFrom('', '{"city":"Os', 'null', '[]', '"text"', '{"kind":"circle","radius":1}', '{"kind":"\\ud83d"}'),
);
const chunk: fc.Arbitrary<Chunk> = fc.oneof(
  text.map((value): Chunk => ({ type: 'text', text: value })),
  text.map((value): Chunk => ({ type: 'thinking', text: value })),
  fc
    .tuple(callId, toolName, args)
    .map(([id, name, value]): Chunk => ({ type: 'toolCallFragment', id, name, arguments: value, done: true })),
  fc.constant<Chunk>({ type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AQID' } }),
);
const finish = fc.constantFrom<Chunk>(
  { type: 'finish', reason: 'stop' },
  { type: 'finish', reason: 'toolCalls' },
  { type: 'finish', reason: 'length' },
);
const turn = fc.tuple(fc.array(chunk, { maxLength: 5 }), finish).map(([chunks, end]): Chunk[] => [...chunks, end]);

const png = 'iVBORw0KGgo=';
const files = fc.constantFrom<Part>(
  filePart(new Uint8Array([1, 2, 3]), 'image/png'),
  { type: 'file', mediaType: 'IMAGE/PNG', data: `data:image/png;base64,${png}` },
  { type: 'file', mediaType: 'image/jpeg', data: 'iVBO\r\nRw0K\r\nGgo' },
  { type: 'file', mediaType: 'image/png', data: '-_-_' },
  { type: 'file', mediaType: 'text/plain', data: 'SGk=' },
);
const prompt: fc.Arbitrary<Message> = fc.oneof(
  text.filter((value) => value.trim() !== '').map((value) => userMessage(value)),
  fc.tuple(text, files).map(([value, file]) => userMessage([{ type: 'text', text: value }, file])),
);
const result = fc.oneof(
  json,
  text,
  fc.constantFrom<unknown>({ $ref: '#/a' }, '', null, [], undefined, [
    'See',
    filePart(new Uint8Array([9]), 'image/png'),
  ]),
);

/** What a run is made of. */
const plan = fc.record({
  system: fc.option(text, { nil: undefined }),
  prompts: fc.array(prompt, { minLength: 1, maxLength: 2 }),
  turns: fc.array(turn, { maxLength: 3 }),
  results: fc.array(result, { minLength: 1, maxLength: 3 }),
});
type Plan = typeof plan extends fc.Arbitrary<infer Value> ? Value : never;

const shape = {
  oneOf: [
    { type: 'object', properties: { kind: { const: 'circle' }, radius: { type: 'number' } }, required: ['kind'] },
    { type: 'object', properties: { kind: { const: 'text' }, text: { type: ['string', 'null'] } }, required: ['kind'] },
  ],
} as const;

function toolsOf({ results }: Plan) {
  let index = 0;
  const next = () => results[index++ % results.length];
  const fail = () => {
    throw new Error(`cut \ud83d ${String(index)}`);
  };
  return [
    tool({ name: 'look', description: 'Looks \ud83d.', execute: next }),
    tool({ name: 'draw', description: 'Draws.', execute: fail }),
    tool({
      name: 'choose',
      description: 'Chooses.',
      parameters: { type: 'object', properties: { shape, size: { enum: [1, 'a', null] } } },
      execute: next,
    }),
  ];
}

/** A history that `agent.run` has made, with the next prompt. */
async function historyOf(planned: Plan): Promise<readonly Message[]> {
  const { system, prompts, turns } = planned;
  const model = scriptedModel([...turns, ['Done.']]);
  const tools = toolsOf(planned);
  let history: readonly Message[] = [];
  for (const asked of prompts) {
    const run = createAgent({ model, tools }).run(asked, { history });
    const messages = await lastValueFrom(
      run.pipe(
        tap(() => undefined),
        catchError((error: unknown) => of({ messages: failedRunOf(error)?.messages ?? [] })),
      ),
    );
    history = [...history, asked, ...messages.messages];
  }
  const first = system === undefined ? [] : [systemMessage(system)];
  return [...first, ...history, userMessage('Go on.')];
}

/** What no provider accepts, wherever it is in a body. The paths are those of the wires that have a rule for it. */
function problemsIn(value: unknown, path: string, parent: JsonObject = {}): readonly string[] {
  if (typeof value === 'string') {
    const broken = /\p{Surrogate}/u.test(value) ? [`${path}: a half surrogate`] : [];
    const owner = nonEmptyString(parent['type']) ?? path.split('.').at(-2) ?? '';
    const isCall = /(function|functionCall|functionResponse|tool_use|function_call|function_result)$/.test(owner);
    const isName = path.endsWith('.name') && isCall && !/^[A-Za-z_][\w.:-]{0,63}$/.test(value);
    const isData = /\.(data|inlineData\.data)$/.test(path) && !/^[A-Za-z0-9+/]+={0,2}$/.test(value);
    const isEmptyText = path.endsWith('.text') && value === '' && parent['type'] !== 'reasoning';
    return [
      ...broken,
      ...(isName ? [`${path}: the name ${JSON.stringify(value)}`] : []),
      ...(isData ? [`${path}: no base64`] : []),
      ...(isEmptyText ? [`${path}: an empty text`] : []),
    ];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => problemsIn(item, `${path}.${index}`, parent));
  if (!isRecord(value)) return [];
  // The arguments and results of tools are anything; only their texts have a rule.
  const isFree = /\.(arguments|args|input|response|result)$/.test(path);
  return Object.entries(value).flatMap(([key, inner]) =>
    problemsIn(inner, isFree ? `${path}._` : `${path}.${key}`, isJsonObject(value) ? value : {}),
  );
}

/** Why the provider of a wire would refuse the request that continues a history; undefined if it would not. */
async function refusalOf(wire: string, messages: readonly Message[], planned: Plan): Promise<string | undefined> {
  const [make, dialect] = wires[wire] ?? [];
  if (!make || !dialect) return `no wire ${wire}`;
  let body: unknown;
  let headers: Readonly<Record<string, string>> = {};
  const answer: typeof fetch = (_, init) => {
    headers = Object.fromEntries(new Headers(init?.headers));
    body = JSON.parse(init?.body as string);
    return Promise.resolve(new Response('{}', { status: 400 }));
  };
  const tools = toolsOf(planned).map(toolDefinition);
  const stream = make({ apiKey: 'k', fetch: answer, retry: false }).stream({ messages, tools });
  const error = await firstValueFrom(stream.pipe(catchError((thrown: unknown) => of(thrown as Error))));
  if (body === undefined) return `no request: ${(error as Error).message}`;
  return dialect.refusal(body, headers)?.message ?? problemsIn(body, 'body')[0];
}

/** Fails with the smallest run whose history a wire cannot continue. */
export function checkHistories(wire: string, numRuns: number): Promise<void> {
  return fc.assert(
    fc.asyncProperty(plan, async (planned) => {
      const history = await historyOf(planned);
      const refusal = await refusalOf(wire, history, planned);
      if (refusal !== undefined) throw new Error(`${wire}: ${refusal}\n${JSON.stringify(history)}`);
    }),
    { numRuns, includeErrorInReport: true },
  );
}
