import { tap } from 'rxjs';
import { accumulateToolCalls } from 'rivulet';
import type { Chunk, OfType } from 'rivulet';
import type { Debugger } from '../debug/run.js';

/** A call as far as it has arrived. */
interface PartialCall {
  readonly name: string;
  readonly id: string;
  readonly text: string;
}

/** The call with a fragment added. Arguments that arrive as an object are complete. */
const addFragment = (
  { text }: PartialCall,
  { name = '', id = '', arguments: args }: OfType<Chunk, 'toolCallFragment'>,
): PartialCall => ({
  name,
  id,
  text: typeof args === 'string' ? text + args : args ? JSON.stringify(args) : text,
});

/** Shows how the arguments of tool calls grow, fragment by fragment. */
export const accumulation: Debugger = {
  usage: 'Shows each fragment of a tool call as it arrives, the call that it belongs to, and the complete calls.',
  watch(answer, print) {
    const calls = new Map<OfType<Chunk, 'toolCallFragment'>['index'], PartialCall>();
    return answer.pipe(
      tap((chunk) => {
        const { type, ...fields } = chunk;
        if (type === 'toolCallFragment') print('  fragment', JSON.stringify(fields));
      }),
      accumulateToolCalls({ fragments: true }),
      tap((event) => {
        switch (event.type) {
          case 'toolCallFragment': {
            const call = addFragment(calls.get(event.index) ?? { name: '', id: '', text: '' }, event);
            calls.set(event.index, call);
            print(
              `    call ${event.index}`,
              `${call.name || '(no name yet)'} (${call.id || 'no id yet'}) ${call.text}`,
            );
            break;
          }
          case 'toolCall':
            print('  complete', `${event.name} (${event.id}) ${JSON.stringify(event.arguments)}`);
            break;
          case 'finish':
            print('  finish', event.reason);
            break;
          default:
        }
      }),
    );
  },
};
