/** What it costs to record a run, and to be ready to show it. */
import { createAgent, observeRun, openaiChat, userMessage } from '../../../../lib/index.js';
import type { Observable } from 'rxjs';
import type { Agent, Input, RunEvent } from '../../../../lib/index.js';
import { inspectRuns, recordRun } from '../../../../lib/observe/recording/index.js';
import { once } from './job.js';
import type { Library } from './job.js';

/** A port at which nobody listens. */
const nobody = 'http://127.0.0.1:9/#token';

/** Runs an agent that is created once, as services do. */
function libraryOf(wrap: (agent: Agent) => { readonly stream: (input: Input) => Observable<RunEvent> }): Library {
  const agentAt = once((baseUrl) => {
    const model = openaiChat('gpt-5', { apiKey: 'key', baseUrl: `${baseUrl}/v1` });
    return wrap(createAgent({ model, prefix: '' }));
  });
  return ({ baseUrl, messages, onText }) =>
    new Promise((resolve, reject) => {
      agentAt(baseUrl)
        .stream(messages.map(({ text }) => userMessage(text)))
        .subscribe({
          next: (event) => {
            if (event.type === 'text') onText(event.text);
          },
          error: reject,
          complete: resolve,
        });
    });
}

export const plain = libraryOf((agent) => agent);

/** The lines are written to memory, and forgotten after each run. */
export const recorded = libraryOf((agent) => {
  let lines: string[] = [];
  return recordRun(agent, (line) => {
    lines.push(line);
    if (line.startsWith('{"type":"end"')) lines = [];
  });
});

/** No inspector answers. */
export const inspected = libraryOf((agent) => inspectRuns(agent, nobody));

/** An observer that does nothing, for comparison. */
export const observed = libraryOf((agent) => ({
  stream: (input) => agent.stream(input).pipe(observeRun({ runEnd: () => undefined })),
}));
