import type { Chunk } from '../../core/chunk.js';
import { heldBack } from '../shared/heldBack.js';
import { callsIn } from './callsIn.js';

/** Takes chunks and passes them on with the tool calls told from the text. */
export interface TaggedCalls {
  next(chunk: Chunk): void;
  /**
   * Releases what is held back, as calls where it is nothing else, or as the text that it was.
   *
   * @param whole Whether the answer came to its end: one that was cut exposes no call.
   */
  flush(whole: boolean): void;
}

/** Llama 3 marks its calls with the first, Llama 4 with the second. */
const tags = ['<|python_tag|>', '<|python_start|>'] as const;
const firstTag = /<\|python_(tag|start)\|>/;

/**
 * Turns calls that were written as text, `<|python_tag|>{"name": "f", "parameters": {...}}`, into calls. Llama models write them so; servers that do
 * not read them again (Together with some models, vLLM without a tool parser, llama.cpp) let them through as text.
 *
 * The rule is by what came: only where the tag is followed by calls and by nothing else, to the end of the answer, they are calls. An answer that
 * speaks of the tag, or quotes a call, remains text to the letter; so does all of it when the server sent calls of its own beside. Text is held
 * back from a tag on that a JSON value follows, otherwise no more than the beginning of a tag.
 *
 * @param emit Takes the chunks.
 */
export function taggedCalls(emit: (chunk: Chunk) => void): TaggedCalls {
  let held = '';
  let holding = false;
  let native = false;

  const say = (text: string) => {
    if (text !== '') emit({ type: 'text', text });
  };
  const scan = (text: string) => {
    const [tag] = firstTag.exec(text) ?? [];
    if (tag === undefined) {
      const shown = text.length - heldBack(text, ...tags);
      say(text.slice(0, shown));
      held = text.slice(shown);
      return;
    }
    const at = text.indexOf(tag);
    say(text.slice(0, at));
    const rest = text.slice(at + tag.length);
    if (/^\s*([[{<]|$)/.test(rest)) {
      held = text.slice(at);
      holding = /\S/.test(rest);
    } else {
      say(tag);
      scan(rest);
    }
  };

  return {
    next(chunk) {
      if (chunk.type === 'text') {
        if (held === '' && !chunk.text.includes('<')) {
          emit(chunk);
          return;
        }
        const text = held + chunk.text;
        held = '';
        if (holding) held = text;
        else scan(text);
        return;
      }
      if (chunk.type === 'toolCallFragment') native = true;
      emit(chunk);
    },
    flush(whole) {
      const calls = whole && !native && holding ? callsIn(held) : undefined;
      if (calls) for (const { name, args } of calls) emit({ type: 'toolCallFragment', name, arguments: args, done: true });
      else say(held);
      [held, holding] = ['', false];
    },
  };
}
