import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { JsonOutputParser } from '@langchain/core/output_parsers';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { recordsSchema, saveDescription } from '../out/spec/bench/client/job.js';

const modelOf = (job) =>
  new ChatOpenAI({ model: 'gpt-5', apiKey: 'key', configuration: { baseURL: `${job.baseUrl}/v1` }, maxRetries: 0, useResponsesApi: false });
const messagesOf = (job) => job.messages.map(({ role, text }) => (role === 'user' ? new HumanMessage(text) : new AIMessage(text)));

/** Its output parser's partial objects. */
export async function output(job) {
  const responseFormat = { type: 'json_schema', json_schema: { name: 'records', schema: recordsSchema, strict: true } };
  const model = modelOf(job).withConfig({ response_format: responseFormat });
  for await (const partial of await model.pipe(new JsonOutputParser()).stream(messagesOf(job))) job.onPartial(partial);
}

/** The arguments of the chunks joined so far: it parses them with each. */
export async function toolArguments(job) {
  const save = tool(() => 'saved', { name: 'save', description: saveDescription, schema: recordsSchema });
  let whole;
  for await (const chunk of await modelOf(job).bindTools([save]).stream(messagesOf(job))) {
    whole = whole ? whole.concat(chunk) : chunk;
    if (whole.tool_calls?.length) job.onPartial(whole.tool_calls[0].args);
  }
}
