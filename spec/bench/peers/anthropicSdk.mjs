import Anthropic from '@anthropic-ai/sdk';
import { maxTurns, saveDescription, saveParameters } from '../out/spec/bench/client/job.js';

/** The raw iterator: what remains is by hand, as in the floor. */
export async function iterator(job) {
  const client = new Anthropic({ apiKey: 'key', baseURL: job.baseUrl, maxRetries: 0 });
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  const tools = job.save && [{ name: 'save', description: saveDescription, input_schema: saveParameters }];
  for (let turn = 0; turn < maxTurns; turn++) {
    const calls = [];
    let text = '';
    const stream = await client.messages.create({ model: 'claude-sonnet-4-5', max_tokens: 64_000, messages, tools, stream: true });
    for await (const event of stream) {
      if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') {
        calls[event.index] = { id: event.content_block.id, name: event.content_block.name, json: '' };
      } else if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
        text += event.delta.text;
        job.onText(event.delta.text);
      } else if (event.type === 'content_block_delta') calls[event.index].json += event.delta.partial_json;
    }
    if (calls.length === 0) return;
    const blocks = calls.map(({ id, name, json }) => ({ type: 'tool_use', id, name, input: JSON.parse(json) }));
    messages.push({ role: 'assistant', content: text ? [{ type: 'text', text }, ...blocks] : blocks });
    messages.push({ role: 'user', content: blocks.map(({ id, input }) => ({ type: 'tool_result', tool_use_id: id, content: job.save(input.content) })) });
  }
}
