/**
 * The least code that one would write by hand: fetch, TextDecoder, eventsource-parser, JSON.parse, append. It has no
 * errors, retries or cancellation. It is the base of all ratios.
 */
import { createParser } from 'eventsource-parser';
import { incrementalParser } from './incrementalParser.js';
import { maxTurns, recordsSchema, saveDescription, saveParameters } from './job.js';
import type { Job, Library } from './job.js';

interface Call {
  id: string;
  name: string;
  json: string;
}

/** The content of one response. */
interface Answer {
  text: string;
  readonly calls: Call[];
}

/** The schemas of a request: of the tool's parameters, and of the typed output. */
interface Schemas {
  readonly tool?: object | undefined;
  readonly output?: object | undefined;
}

/** What a client calls while it reads a response. */
interface Listener {
  readonly onText: (text: string) => void;
  /** Called with each fragment of a call's arguments. */
  readonly onFragment?: (fragment: string) => void;
  /** Called after each read of the socket. */
  readonly onRead?: () => void;
}

/** A hand-written client of a provider's API. */
interface ByHand {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  message(role: 'user' | 'assistant', text: string): unknown;
  body(history: readonly unknown[], schemas: Schemas): unknown;
  frame(data: string, answer: Answer, listener: Listener): void;
  reply(answer: Answer, results: readonly string[]): readonly unknown[];
}

const historyOf = (api: ByHand, { messages }: Job): unknown[] =>
  messages.map(({ role, text }) => api.message(role, text));

/** Sends one request and reads its response. */
async function ask(api: ByHand, baseUrl: string, body: unknown, listener: Listener): Promise<Answer> {
  const response = await fetch(baseUrl + api.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...api.headers },
    body: JSON.stringify(body),
  });
  const answer: Answer = { text: '', calls: [] };
  const decoder = new TextDecoder();
  const parser = createParser({ onEvent: ({ data }) => api.frame(data, answer, listener) });
  const reader = response.body!.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    parser.feed(decoder.decode(read.value, { stream: true }));
    listener.onRead?.();
  }
  return answer;
}

async function run(api: ByHand, job: Job): Promise<void> {
  const history = historyOf(api, job);
  const schemas: Schemas = { tool: job.save && saveParameters, output: job.output };
  const listener: Listener = { onText: job.output ? () => undefined : job.onText };
  for (let turn = 0; turn < maxTurns; turn++) {
    const answer = await ask(api, job.baseUrl, api.body(history, schemas), listener);
    if (job.output) job.onOutput(JSON.parse(answer.text));
    if (answer.calls.length === 0) return;
    const results = answer.calls.map(({ json }) => job.save!((JSON.parse(json) as { content: string }).content));
    history.push(...api.reply(answer, results));
  }
}

/** Partial objects: a hand-written parser of the streamed JSON, and its object after each read. */
async function partials(api: ByHand, job: Job, of: keyof Schemas): Promise<void> {
  const json = incrementalParser();
  const push = (text: string) => json.push(text);
  await ask(api, job.baseUrl, api.body(historyOf(api, job), { [of]: recordsSchema }), {
    onText: of === 'output' ? push : () => undefined,
    ...(of === 'tool' ? { onFragment: push } : {}),
    onRead: () => job.onPartial(json.value()),
  });
}

const roleAndContent: ByHand['message'] = (role, content) => ({ role, content });

interface OpenaiFrame {
  choices: {
    delta: {
      content?: string | null;
      tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[];
    };
  }[];
}

const openaiByHand: ByHand = {
  path: '/v1/chat/completions',
  headers: { authorization: 'Bearer key' },
  message: roleAndContent,
  body: (messages, { tool, output }) => ({
    model: 'gpt-5',
    messages,
    ...(tool && {
      tools: [{ type: 'function', function: { name: 'save', description: saveDescription, parameters: tool } }],
    }),
    ...(output && {
      response_format: { type: 'json_schema', json_schema: { name: 'records', schema: output, strict: true } },
    }),
    stream: true,
    stream_options: { include_usage: true },
  }),
  frame(data, answer, { onText, onFragment }) {
    if (data === '[DONE]') return;
    const delta = (JSON.parse(data) as OpenaiFrame).choices[0]?.delta;
    if (delta?.content) {
      answer.text += delta.content;
      onText(delta.content);
    }
    if (delta?.tool_calls) {
      for (const { index, id, function: called } of delta.tool_calls) {
        const call = (answer.calls[index] ??= { id: id ?? '', name: called.name ?? '', json: '' });
        call.json += called.arguments ?? '';
        if (called.arguments) onFragment?.(called.arguments);
      }
    }
  },
  reply: ({ text, calls }, results) => [
    {
      role: 'assistant',
      content: text || null,
      tool_calls: calls.map(({ id, name, json }) => ({ id, type: 'function', function: { name, arguments: json } })),
    },
    ...calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: results[at] })),
  ],
};

interface AnthropicEvent {
  type: string;
  content_block: { type: string; id: string; name: string };
  delta: { type: string; text: string; partial_json: string };
}

const anthropicByHand: ByHand = {
  path: '/v1/messages',
  headers: { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
  message: roleAndContent,
  body: (messages, { tool, output }) => ({
    model: 'claude-sonnet-4-5',
    max_tokens: 64_000,
    messages,
    ...(tool && { tools: [{ name: 'save', description: saveDescription, input_schema: tool }] }),
    ...(output && { output_config: { format: { type: 'json_schema', schema: output } } }),
    stream: true,
  }),
  frame(data, answer, { onText, onFragment }) {
    const { type, content_block, delta } = JSON.parse(data) as AnthropicEvent;
    if (type === 'content_block_start' && content_block.type === 'tool_use') {
      answer.calls.push({ id: content_block.id, name: content_block.name, json: '' });
    } else if (type === 'content_block_delta' && delta.type === 'text_delta') {
      answer.text += delta.text;
      onText(delta.text);
    } else if (type === 'content_block_delta') {
      answer.calls.at(-1)!.json += delta.partial_json;
      onFragment?.(delta.partial_json);
    }
  },
  reply: ({ text, calls }, results) => [
    {
      role: 'assistant',
      content: [
        ...(text ? [{ type: 'text', text }] : []),
        ...calls.map(({ id, name, json }) => ({ type: 'tool_use', id, name, input: JSON.parse(json) as unknown })),
      ],
    },
    {
      role: 'user',
      content: calls.map(({ id }, at) => ({ type: 'tool_result', tool_use_id: id, content: results[at] })),
    },
  ],
};

interface GoogleFrame {
  candidates: { content: { parts: { text: string }[] } }[];
}

/** Text only. */
const googleByHand: ByHand = {
  path: '/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
  headers: { 'x-goog-api-key': 'key' },
  message: (role, text) => ({ role: role === 'user' ? 'user' : 'model', parts: [{ text }] }),
  body: (contents) => ({ contents }),
  frame(data, answer, { onText }) {
    for (const { text } of (JSON.parse(data) as GoogleFrame).candidates[0]?.content.parts ?? []) {
      answer.text += text;
      if (text) onText(text);
    }
  },
  reply: () => [],
};

export const openai: Library = (job) => run(openaiByHand, job);
export const anthropic: Library = (job) => run(anthropicByHand, job);
export const google: Library = (job) => run(googleByHand, job);

export const openaiPartialOutput: Library = (job) => partials(openaiByHand, job, 'output');
export const openaiPartialArguments: Library = (job) => partials(openaiByHand, job, 'tool');
export const anthropicPartialOutput: Library = (job) => partials(anthropicByHand, job, 'output');
export const anthropicPartialArguments: Library = (job) => partials(anthropicByHand, job, 'tool');
