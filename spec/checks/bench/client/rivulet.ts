/** Rivulet as users run it: the agent with its loop, tools and result. */
import {
  anthropic as anthropicModel,
  createAgent,
  google as googleModel,
  modelMessage,
  openaiChat,
  partialArguments,
  partialOutput,
  tool,
  userMessage,
  typed,
} from '../../../../lib/index.js';
import type { Observable } from 'rxjs';
import type { Model } from '../../../../lib/index.js';
import { maxTurns, once, recordsSchema, saveDescription, saveParameters } from './job.js';
import type { Job, Library } from './job.js';

const each = <T>(events: Observable<T>, next: (event: T) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    events.subscribe({ next, error: reject, complete: resolve });
  });

const historyOf = ({ messages }: Job) =>
  messages.map(({ role, text }) => (role === 'user' ? userMessage(text) : modelMessage(text)));

function run(model: Model, job: Job): Promise<void> {
  const { save, output, onText, onOutput } = job;
  if (output)
    return each(createAgent({ model, output: typed(output) }).run(historyOf(job)), ({ output: found }) =>
      onOutput(found),
    );
  const tools = save
    ? [
        tool({
          name: 'save',
          description: saveDescription,
          parameters: saveParameters,
          execute: ({ content }) => save(content as string),
        }),
      ]
    : [];
  return each(createAgent({ model, tools, maxTurns, prefix: '' }).stream(historyOf(job)), (event) => {
    if (event.type === 'text') onText(event.text);
  });
}

/** `partialOutput` after the agent's events. */
const outputs = (model: Model, job: Job): Promise<void> =>
  each(
    createAgent({ model, output: typed(recordsSchema), prefix: '' })
      .stream(historyOf(job))
      .pipe(partialOutput()),
    job.onPartial,
  );

/** `partialArguments` after the agent's events. */
function calls(model: Model, job: Job): Promise<void> {
  const save = tool({ name: 'save', description: saveDescription, parameters: recordsSchema, execute: () => 'saved' });
  const events = createAgent({ model, tools: [save], maxTurns: 1, prefix: '' }).stream(historyOf(job), {
    fragments: true,
  });
  return each(events.pipe(partialArguments(save)), (call) => job.onPartial(call.arguments));
}

const openaiAt = once((baseUrl) => openaiChat('gpt-5', { apiKey: 'key', baseUrl: `${baseUrl}/v1` }));
const anthropicAt = once((baseUrl) => anthropicModel('claude-sonnet-4-5', { apiKey: 'key', baseUrl: `${baseUrl}/v1` }));
const googleAt = once((baseUrl) => googleModel('gemini-3.8-flash', { apiKey: 'key', baseUrl: `${baseUrl}/v1beta` }));

export const openai: Library = (job) => run(openaiAt(job.baseUrl), job);
export const anthropic: Library = (job) => run(anthropicAt(job.baseUrl), job);
export const google: Library = (job) => run(googleAt(job.baseUrl), job);

export const openaiPartialOutput: Library = (job) => outputs(openaiAt(job.baseUrl), job);
export const openaiPartialArguments: Library = (job) => calls(openaiAt(job.baseUrl), job);
export const anthropicPartialOutput: Library = (job) => outputs(anthropicAt(job.baseUrl), job);
export const anthropicPartialArguments: Library = (job) => calls(anthropicAt(job.baseUrl), job);
