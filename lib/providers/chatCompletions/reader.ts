import type { Chunk } from '../../core/chunk.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { contentPieces, detailedReasoning, filesIn, fragmentsIn, plainReasoning, sourcesIn, textIn } from './delta.js';
import type { Kind } from './delta.js';
import { createEcho } from './replay.js';

/** How much of an answer has come: for the message of an interruption. */
export interface Received {
  readonly characters: number;
  readonly fragments: number;
}

/** Turns the deltas and snapshots of one answer into chunks, each thing once. */
export interface Reader {
  /** A piece of the answer. */
  delta(delta: JsonObject): void;
  /** The answer so far, whole: only what has not streamed yet counts. */
  snapshot(message: JsonObject): void;
  /** Cited sources; a source known already is not repeated. */
  cite(sources: readonly SourcePart[]): void;
  /** What the provider wants back with the message. */
  echo(): JsonObject | undefined;
  readonly refused: boolean;
  readonly received: Received;
}

/** The one field of a delta that says something, as in nearly all of them: asked first, it saves a third of the time that a delta takes here. */
function onlyField(delta: JsonObject): string | undefined {
  let only: string | undefined;
  for (const field in delta) {
    const value = delta[field];
    if (field === 'role' || value === null || value === '') continue;
    if (only !== undefined) return undefined;
    only = field;
  }
  return only;
}

/** A reader that has read nothing. */
export function createReader(provider: string, emit: (chunk: Chunk) => void): Reader {
  const said: Record<Kind, StringBuilder> = {
    text: new StringBuilder(),
    thinking: new StringBuilder(),
    refusal: new StringBuilder(),
  };
  const known = new Set<string>();
  const echo = createEcho();
  let fragments = 0;
  let plain = false;

  const say = (kind: Kind, text: string) => {
    if (text === '') return;
    said[kind].add(text);
    emit({ type: kind === 'thinking' ? 'thinking' : 'text', text });
  };
  /** `reasoning_details` repeat the plain reasoning, with its signatures: they are read only where there is no plain one. */
  const reasoning = (delta: JsonObject) => {
    const text = plainReasoning(delta);
    plain ||= text !== '';
    return text !== '' || plain ? text : detailedReasoning(delta);
  };
  const once = (key: string, chunk: Chunk) => {
    if (known.has(key)) return;
    known.add(key);
    emit(chunk);
  };
  const attach = (files: readonly FilePart[]) => {
    for (const file of files) once(`file ${file.data ?? file.url}`, { type: 'file', file });
  };
  const cite = (sources: readonly SourcePart[]) => {
    for (const source of sources) {
      const at = `source ${source.url ?? source.id}`;
      once(`${at}\n${source.text}`, { type: 'source', source });
      known.add(`${at}\nundefined`);
    }
  };
  const call = (delta: JsonObject) => {
    for (const fragment of fragmentsIn(delta, provider)) {
      fragments++;
      emit(fragment);
    }
  };

  return {
    delta(delta) {
      const { content } = delta;
      const only = onlyField(delta);
      if (only === 'tool_calls') {
        call(delta);
        return;
      }
      if (only === 'content' && typeof content === 'string') {
        say('text', content);
        return;
      }
      echo.take(delta, said.text.length);
      const thinking = reasoning(delta);
      say('thinking', thinking);
      if (typeof content === 'string') say('text', content);
      else
        for (const { kind, text } of contentPieces(content))
          if (kind !== 'thinking' || thinking === '') say(kind, text);
      say('refusal', textIn(delta['refusal']));
      attach(filesIn(delta));
      cite(sourcesIn(delta));
      call(delta);
    },
    snapshot(message) {
      if (said.thinking.length === 0 && echo.empty) echo.take(message, 0);
      const whole: Record<Kind, string> = {
        thinking: reasoning(message),
        text: '',
        refusal: textIn(message['refusal']),
      };
      const thought = whole.thinking;
      for (const { kind, text } of contentPieces(message['content']))
        if (kind !== 'thinking' || thought === '') whole[kind] += text;
      for (const kind of ['thinking', 'text', 'refusal'] as const) {
        if (whole[kind].startsWith(said[kind].toString())) say(kind, whole[kind].slice(said[kind].length));
      }
      attach(filesIn(message));
      cite(sourcesIn(message));
      if (fragments === 0) call(message);
    },
    cite,
    echo: () => echo.data(fragments > 0),
    get refused() {
      return said.refusal.length > 0;
    },
    get received() {
      return { characters: said.text.length + said.thinking.length + said.refusal.length, fragments };
    },
  };
}
