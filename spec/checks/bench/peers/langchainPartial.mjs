import { ChatAnthropic } from '@langchain/anthropic';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { JsonOutputParser } from '@langchain/core/output_parsers';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { once, recordsSchema, saveDescription } from '../out/spec/checks/bench/client/job.js';

const openai = once(
  (baseUrl) =>
    new ChatOpenAI({
      model: 'gpt-5',
      apiKey: 'key',
      configuration: { baseURL: `${baseUrl}/v1` },
      maxRetries: 0,
      useResponsesApi: false,
    }),
);
const anthropic = once(
  (baseUrl) =>
    new ChatAnthropic({
      model: 'claude-sonnet-4-5',
      apiKey: 'key',
      maxRetries: 0,
      maxTokens: 64_000,
      anthropicApiUrl: baseUrl,
    }),
);
const messagesOf = (job) =>
  job.messages.map(({ role, text }) => (role === 'user' ? new HumanMessage(text) : new AIMessage(text)));

/** Its output parser's partial objects. */
const output = (modelAt, options) => async (job) => {
  const model = modelAt(job.baseUrl).withConfig(options);
  for await (const partial of await model.pipe(new JsonOutputParser()).stream(messagesOf(job))) job.onPartial(partial);
};

/** The arguments of the chunks joined so far: it parses them with each. */
const toolArguments = (modelAt) => async (job) => {
  const save = tool(() => 'saved', { name: 'save', description: saveDescription, schema: recordsSchema });
  let whole;
  for await (const chunk of await modelAt(job.baseUrl).bindTools([save]).stream(messagesOf(job))) {
    whole = whole ? whole.concat(chunk) : chunk;
    if (whole.tool_calls?.length) job.onPartial(whole.tool_calls[0].args);
  }
};

export const openaiPartialOutput = output(openai, {
  response_format: { type: 'json_schema', json_schema: { name: 'records', schema: recordsSchema, strict: true } },
});
export const openaiPartialArguments = toolArguments(openai);
export const anthropicPartialOutput = output(anthropic, {
  outputConfig: { format: { type: 'json_schema', schema: recordsSchema } },
});
export const anthropicPartialArguments = toolArguments(anthropic);
