import OpenAI from 'openai';
import { maxTurns, once, saveDescription, saveParameters } from '../out/spec/checks/bench/client/job.js';

const client = once((baseUrl) => new OpenAI({ apiKey: 'key', baseURL: `${baseUrl}/v1`, maxRetries: 0 }));

const formatOf = ({ output }) =>
  output && { type: 'json_schema', json_schema: { name: 'records', schema: output, strict: true } };

/** The raw iterator: what remains is by hand, as in the floor. */
export async function iterator(job) {
  const openai = client(job.baseUrl);
  const messages = job.messages.map(({ role, text }) => ({ role, content: text }));
  const tools = job.save && [
    { type: 'function', function: { name: 'save', description: saveDescription, parameters: saveParameters } },
  ];
  for (let turn = 0; turn < maxTurns; turn++) {
    const calls = [];
    let text = '';
    const params = {
      model: 'gpt-5',
      messages,
      tools,
      response_format: formatOf(job),
      stream: true,
      stream_options: { include_usage: true },
    };
    const stream = await openai.chat.completions.create(params);
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta;
      if (delta?.content) {
        text += delta.content;
        if (!job.output) job.onText(delta.content);
      }
      for (const { index, id, function: called } of delta?.tool_calls ?? []) {
        const call = (calls[index] ??= { id, type: 'function', function: { name: called.name, arguments: '' } });
        call.function.arguments += called.arguments ?? '';
      }
    }
    if (job.output) job.onOutput(JSON.parse(text));
    if (calls.length === 0) return;
    messages.push({ role: 'assistant', content: text || null, tool_calls: calls });
    for (const { id, function: called } of calls) {
      messages.push({ role: 'tool', tool_call_id: id, content: job.save(JSON.parse(called.arguments).content) });
    }
  }
}

/** The stream helper, and where there are tools, its runner. */
export async function helper(job) {
  const completions = client(job.baseUrl).chat.completions;
  const params = {
    model: 'gpt-5',
    messages: job.messages.map(({ role, text }) => ({ role, content: text })),
    response_format: formatOf(job),
    stream: true,
    stream_options: { include_usage: true },
  };
  const tool = {
    type: 'function',
    function: {
      name: 'save',
      description: saveDescription,
      parameters: saveParameters,
      parse: JSON.parse,
      function: ({ content }) => job.save(content),
    },
  };
  const runner = job.save
    ? completions.runTools({ ...params, tools: [tool] }, { maxChatCompletions: maxTurns })
    : completions.stream(params);
  if (!job.output) runner.on('content', (text) => job.onText(text));
  await runner.done();
  if (job.output) job.onOutput(JSON.parse(await runner.finalContent()));
}
