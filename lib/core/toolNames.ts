import { map } from 'rxjs';
import type { StreamEvent } from './event.js';
import { asKnownEvent } from './eventGuards.js';
import { mapParts, type Message } from './message.js';
import type { Model } from './model.js';
import { openResponse } from './response.js';

type ToolNames = Pick<ReadonlySet<string>, 'has'>;

/** Models add a namespace (`functions.`, `default_api.`) or a token (gpt-oss: `weather<|channel|>commentary`). */
const added = /<\|.*|^\s*(?:functions|default_api|tools?|paloma)[.:]/gs;

/**
 * The call with the tool's own name, if the name that the model wrote means a tool. All other code compares names
 * exactly, so each place where calls enter applies it: the wires, what reads the stream of any model (`withToolNames`,
 * `guardModel`), `executeTools`, `resumedTurn` for checkpoints, and `pageTools` for the calls of other servers.
 */
export function withToolName<C extends { readonly type?: string; readonly name?: string }>(
  call: C,
  tools: ToolNames,
): C {
  const { name = '' } = call;
  if (tools.has(name)) return call;
  const own = name.replace(added, '').trim();
  return tools.has(own) ? { ...call, name: own } : call;
}

export const messageWithToolNames = (message: Message, tools: ToolNames): Message =>
  mapParts(message, (part) => (part.type === 'toolCall' ? withToolName(part, tools) : part));

export function eventWithToolNames<E extends StreamEvent>(event: E, tools: ToolNames): E {
  const known = asKnownEvent(event);
  if (known.type === 'toolCall' || known.type === 'toolCallFragment')
    return withToolName(known, tools) as StreamEvent as E;
  return known.type === 'message' ? { ...event, message: messageWithToolNames(known.message, tools) } : event;
}

export const namesOf = (tools: readonly { readonly name: string }[] = []): ReadonlySet<string> =>
  new Set(tools.map(({ name }) => name));

/** The model with the own names of the tools of each request, for what reads its stream. */
export const withToolNames = (model: Pick<Model, 'stream'>): Pick<Model, 'stream'> => ({
  stream: (request) => {
    const names = namesOf(request.tools);
    return openResponse(model, request).pipe(map((chunk) => eventWithToolNames(chunk, names)));
  },
});
