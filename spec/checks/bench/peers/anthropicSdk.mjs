import Anthropic from '@anthropic-ai/sdk';
import { maxTurns, once, saveDescription, saveParameters } from '../out/spec/checks/bench/client/job.js';

const client = once((baseURL) => new Anthropic({ apiKey: 'key', baseURL, maxRetries: 0 }));

const paramsOf = (job) => ({
  model: 'claude-sonnet-4-5',
  max_tokens: 64_000,
  messages: job.messages.map(({ role, text }) => ({ role, content: text })),
  ...(job.save && { tools: [{ name: 'save', description: saveDescription, input_schema: saveParameters }] }),
  ...(job.output && { output_config: { format: { type: 'json_schema', schema: job.output } } }),
});

const resultsOf = (calls, job) => ({
  role: 'user',
  content: calls.map(({ id, input }) => ({ type: 'tool_result', tool_use_id: id, content: job.save(input.content) })),
});

/** The raw iterator: what remains is by hand, as in the floor. */
export async function iterator(job) {
  const params = paramsOf(job);
  for (let turn = 0; turn < maxTurns; turn++) {
    const calls = [];
    let text = '';
    for await (const event of await client(job.baseUrl).messages.create({ ...params, stream: true })) {
      if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') {
        calls.push({ id: event.content_block.id, name: event.content_block.name, json: '' });
      } else if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
        text += event.delta.text;
        if (!job.output) job.onText(event.delta.text);
      } else if (event.type === 'content_block_delta') calls.at(-1).json += event.delta.partial_json;
    }
    if (job.output) job.onOutput(JSON.parse(text));
    if (calls.length === 0) return;
    const blocks = calls.map(({ id, name, json }) => ({ type: 'tool_use', id, name, input: JSON.parse(json) }));
    params.messages.push(
      { role: 'assistant', content: text ? [{ type: 'text', text }, ...blocks] : blocks },
      resultsOf(blocks, job),
    );
  }
}

/** The stream helper, whose final message goes back as it is. */
export async function helper(job) {
  const params = paramsOf(job);
  for (let turn = 0; turn < maxTurns; turn++) {
    const stream = client(job.baseUrl).messages.stream(params);
    if (!job.output) stream.on('text', (text) => job.onText(text));
    const { role, content } = await stream.finalMessage();
    if (job.output) job.onOutput(JSON.parse(content[0].text));
    const calls = content.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) return;
    params.messages.push({ role, content }, resultsOf(calls, job));
  }
}
