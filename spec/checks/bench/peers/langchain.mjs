import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { maxTurns, saveDescription, saveParameters } from '../out/spec/checks/bench/client/job.js';

/** The chat model's stream, its chunks joined by `concat` as its documentation shows, and the tools run in a loop. */
export async function run(model, job) {
  const save =
    job.save &&
    tool(({ content }) => job.save(content), { name: 'save', description: saveDescription, schema: saveParameters });
  const asked = save ? model.bindTools([save]) : model;
  const messages = job.messages.map(({ role, text }) =>
    role === 'user' ? new HumanMessage(text) : new AIMessage(text),
  );
  if (job.output) {
    let output;
    for await (const partial of await model.withStructuredOutput(job.output, { method: 'jsonSchema' }).stream(messages))
      output = partial;
    job.onOutput(output);
    return;
  }
  for (let turn = 0; turn < maxTurns; turn++) {
    let whole;
    for await (const chunk of await asked.stream(messages)) {
      if (chunk.text) job.onText(chunk.text);
      if (save) whole = whole ? whole.concat(chunk) : chunk;
    }
    if (!whole?.tool_calls?.length) return;
    messages.push(whole);
    for (const call of whole.tool_calls)
      messages.push(new ToolMessage({ tool_call_id: call.id, content: await save.invoke(call.args) }));
  }
}
