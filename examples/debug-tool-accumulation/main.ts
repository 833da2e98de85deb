// npm run debug:tool-accumulation: how the arguments of tool calls grow, fragment by fragment.
import { tap } from 'rxjs';
import { accumulateToolCalls } from 'rivulet';
import type { ToolCallFragment } from 'rivulet';
import { run } from '../debug/run.js';

/** A call as far as it is known. */
interface Growing {
  readonly name: string;
  readonly id: string;
  readonly text: string;
}

/** A call with what a fragment adds to it; arguments that come as an object are all there. */
const grown = ({ text }: Growing, { name = '', id = '', arguments: args }: ToolCallFragment): Growing => ({
  name,
  id,
  text: typeof args === 'string' ? text + args : args ? JSON.stringify(args) : text,
});

await run(
  'Shows each fragment of a tool call as it comes, the call that it belongs to as it grows, and the whole calls.',
  (answer, print) => {
    const calls = new Map<ToolCallFragment['index'], Growing>();
    return answer.pipe(
      tap((chunk) => {
        const { type, ...fields } = chunk;
        if (type === 'toolCallFragment') print('  fragment', JSON.stringify(fields));
      }),
      accumulateToolCalls({ fragments: true }),
      tap((event) => {
        if (event.type === 'toolCallFragment') {
          const call = grown(calls.get(event.index) ?? { name: '', id: '', text: '' }, event);
          calls.set(event.index, call);
          print(`    call ${event.index}`, `${call.name || '(no name yet)'} (${call.id || 'no id yet'}) ${call.text}`);
        } else if (event.type === 'toolCall')
          print('  whole', `${event.name} (${event.id}) ${JSON.stringify(event.arguments)}`);
        else if (event.type === 'finish') print('  finish', event.reason);
      }),
    );
  },
);
