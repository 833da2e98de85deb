/**
 * The floor of partial objects: fetch, TextDecoder, eventsource-parser, JSON.parse of each frame, and a hand-written
 * parser of the streamed JSON.
 */
import { createParser } from 'eventsource-parser';
import { incrementalParser } from './incrementalParser.js';
import { recordsSchema, saveDescription } from './job.js';
import type { Job, Library } from './job.js';

interface Delta {
  readonly content?: string | null;
  readonly tool_calls?: readonly { readonly function: { readonly arguments?: string } }[];
}

interface Frame {
  readonly choices: readonly { readonly delta: Delta }[];
}

async function run(job: Job, more: object, fragmentOf: (delta: Delta) => string | null | undefined): Promise<void> {
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  const response = await fetch(`${job.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
    body: JSON.stringify({ model: 'gpt-5', messages, ...more, stream: true, stream_options: { include_usage: true } }),
  });
  const json = incrementalParser();
  const onEvent = ({ data }: { readonly data: string }) => {
    if (data === '[DONE]') return;
    const delta = (JSON.parse(data) as Frame).choices[0]?.delta;
    const fragment = delta && fragmentOf(delta);
    if (fragment) json.push(fragment);
  };
  const decoder = new TextDecoder();
  const parser = createParser({ onEvent });
  const reader = response.body!.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    parser.feed(decoder.decode(read.value, { stream: true }));
    job.onPartial(json.value());
  }
}

const format = { type: 'json_schema', json_schema: { name: 'records', schema: recordsSchema, strict: true } };
const tool = { type: 'function', function: { name: 'save', description: saveDescription, parameters: recordsSchema } };

export const output: Library = (job) => run(job, { response_format: format }, ({ content }) => content);
export const toolArguments: Library = (job) =>
  run(job, { tools: [tool] }, ({ tool_calls }) => tool_calls?.[0]?.function.arguments);
