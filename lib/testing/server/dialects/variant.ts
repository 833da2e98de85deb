import type { Chunk } from '../../../core/chunk.js';
import { isJsonObject } from '../../../core/json.js';
import type { JsonObject } from '../../../core/json.js';
import { chatCompletions } from './chatCompletions.js';
import type { Dialect, DialectFrame, Refusal } from './dialect.js';

/** Where a server of the Chat Completions API differs from OpenAI's. */
export interface Variant {
  readonly bases: Dialect['bases'];
  readonly serves: (path: string) => boolean;
  /** What it objects to beyond what OpenAI does. Default: nothing. */
  readonly refusal?: (body: JsonObject) => Refusal | undefined;
  /** What a chunk becomes before it is written. Default: itself. */
  readonly chunk?: (chunk: Chunk) => Chunk;
  /** What a frame becomes before it is sent. Default: itself. */
  readonly frame?: (frame: JsonObject) => JsonObject;
  /** Whether usage is always told, with the finish. Default: in a frame of its own, as OpenAI does when it is asked. */
  readonly usageWithFinish?: boolean;
}

/** The Chat Completions API as another server speaks it: the frames of OpenAI's, rewritten. */
export function variant({ bases, serves, refusal, chunk, frame: rewrite, usageWithFinish = false }: Variant): Dialect {
  const rewritten = ({ data }: DialectFrame): DialectFrame => {
    const parsed: unknown = data === '[DONE]' ? undefined : JSON.parse(data);
    return { data: isJsonObject(parsed) ? JSON.stringify(rewrite?.(parsed) ?? parsed) : data };
  };
  return {
    ...chatCompletions,
    bases,
    serves,
    refusal: (body) => chatCompletions.refusal(body) ?? (isJsonObject(body) ? refusal?.(body) : undefined),
    writer({ turn, path, body }) {
      const asked = usageWithFinish ? { ...body, stream_options: { include_usage: true } } : body;
      const writer = chatCompletions.writer({ turn, path, body: asked });
      let finish: readonly DialectFrame[] = [];
      return {
        next(said) {
          const frames = writer.next(chunk?.(said) ?? said);
          if (said.type !== 'finish' || !usageWithFinish) return frames.map(rewritten);
          finish = frames;
          return [];
        },
        error: (error) => [...finish, ...writer.error(error)].map(rewritten),
        end: () => (usageWithFinish ? joined([...finish, ...writer.end()]) : writer.end()).map(rewritten),
      };
    },
  };
}

/** Usage from the frame that has no choices goes into the frame before it. */
function joined(frames: readonly DialectFrame[]): readonly DialectFrame[] {
  return frames.flatMap((frame, at) => {
    const [parsed, next] = [parse(frame), parse(frames[at + 1])];
    if (isUsage(parsed) && at > 0) return [];
    if (!parsed || !isUsage(next)) return [frame];
    return [{ data: JSON.stringify({ ...parsed, usage: next?.['usage'] }) }];
  });
}

const isUsage = (frame: JsonObject | undefined): boolean => Array.isArray(frame?.['choices']) && frame['choices'].length === 0;

function parse(frame: DialectFrame | undefined): JsonObject | undefined {
  const parsed: unknown = frame === undefined || frame.data === '[DONE]' ? undefined : JSON.parse(frame.data);
  return isJsonObject(parsed) ? parsed : undefined;
}

/** A frame with its first choice rewritten. */
export function withChoice(frame: JsonObject, rewrite: (choice: JsonObject, delta: JsonObject) => JsonObject): JsonObject {
  const choices = Array.isArray(frame['choices']) ? frame['choices'].filter(isJsonObject) : [];
  return { ...frame, choices: choices.map((choice) => rewrite(choice, isJsonObject(choice['delta']) ? choice['delta'] : {})) };
}
