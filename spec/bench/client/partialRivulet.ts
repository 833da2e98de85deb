/** Partial objects as users of Rivulet read them: `partialOutput` or `partialArguments` after the agent's events. */
import {
  createAgent,
  modelMessage,
  openai,
  partialArguments,
  partialOutput,
  tool,
  userMessage,
} from '../../../lib/index.js';
import type { Observable } from 'rxjs';
import { recordsSchema, saveDescription } from './job.js';
import type { Job, Library } from './job.js';

const modelOf = ({ baseUrl }: Job) => openai('gpt-5', { apiKey: 'key', baseUrl: `${baseUrl}/v1` });
const historyOf = ({ messages }: Job) =>
  messages.map(({ role, text }) => (role === 'user' ? userMessage(text) : modelMessage(text)));

const read = <T>(partials: Observable<T>, next: (partial: T) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    partials.subscribe({ next, error: reject, complete: resolve });
  });

export const output: Library = (job) =>
  read(
    createAgent({ model: modelOf(job), output: recordsSchema, prefix: '' })
      .stream(historyOf(job))
      .pipe(partialOutput()),
    job.onPartial,
  );

export const toolArguments: Library = (job) => {
  const save = tool({ name: 'save', description: saveDescription, parameters: recordsSchema, execute: () => 'saved' });
  const events = createAgent({ model: modelOf(job), tools: [save], maxTurns: 1, prefix: '' }).stream(historyOf(job), {
    fragments: true,
  });
  return read(events.pipe(partialArguments(save)), (call) => job.onPartial(call.arguments));
};
