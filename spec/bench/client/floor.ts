/**
 * The least code that one would write by hand: fetch, TextDecoder, eventsource-parser, JSON.parse, append. It has no
 * errors, retries or cancellation. It is the base of all ratios.
 */
import { createParser } from 'eventsource-parser';
import { maxTurns, saveDescription, saveParameters } from './job.js';
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

/** A hand-written client of a provider's API. */
interface ByHand {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  body(history: readonly unknown[], job: Job): unknown;
  frame(data: string, answer: Answer, onText: (text: string) => void): void;
  reply(answer: Answer, results: readonly string[]): readonly unknown[];
}

async function ask(api: ByHand, job: Job, history: readonly unknown[]): Promise<Answer> {
  const response = await fetch(job.baseUrl + api.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...api.headers },
    body: JSON.stringify(api.body(history, job)),
  });
  const answer: Answer = { text: '', calls: [] };
  const decoder = new TextDecoder();
  const parser = createParser({ onEvent: ({ data }) => api.frame(data, answer, job.onText) });
  const reader = response.body!.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    parser.feed(decoder.decode(read.value, { stream: true }));
  return answer;
}

async function run(api: ByHand, job: Job): Promise<void> {
  const history: unknown[] = job.messages.map(({ role, text }) => ({ role, content: text }));
  for (let turn = 0; turn < maxTurns; turn++) {
    const answer = await ask(api, job, history);
    if (answer.calls.length === 0) return;
    const results = answer.calls.map(({ json }) => job.save!((JSON.parse(json) as { content: string }).content));
    history.push(...api.reply(answer, results));
  }
}

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
  body: (messages, { save }) => ({
    model: 'gpt-5',
    messages,
    ...(save && {
      tools: [
        { type: 'function', function: { name: 'save', description: saveDescription, parameters: saveParameters } },
      ],
    }),
    stream: true,
    stream_options: { include_usage: true },
  }),
  frame(data, answer, onText) {
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
  index: number;
  content_block: { type: string; id: string; name: string };
  delta: { type: string; text: string; partial_json: string };
}

const anthropicByHand: ByHand = {
  path: '/v1/messages',
  headers: { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
  body: (messages, { save }) => ({
    model: 'claude-sonnet-4-5',
    max_tokens: 64_000,
    messages,
    ...(save && { tools: [{ name: 'save', description: saveDescription, input_schema: saveParameters }] }),
    stream: true,
  }),
  frame(data, answer, onText) {
    const { type, index, content_block, delta } = JSON.parse(data) as AnthropicEvent;
    if (type === 'content_block_start' && content_block.type === 'tool_use') {
      answer.calls[index] = { id: content_block.id, name: content_block.name, json: '' };
    } else if (type === 'content_block_delta' && delta.type === 'text_delta') {
      answer.text += delta.text;
      onText(delta.text);
    } else if (type === 'content_block_delta') answer.calls[index]!.json += delta.partial_json;
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

export const openai: Library = (job) => run(openaiByHand, job);
export const anthropic: Library = (job) => run(anthropicByHand, job);
