import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { modelByName } from '../../../lib/providers/registry/index.js';

/**
 * node --expose-gc --import tsx spec/checks/bench/textMemory.ts [MB]: how often the text of an answer is held in memory during
 * a run, on each wire. Prints JSON: `streaming` (before the last delta) and `ended` (the result, with its text read), in
 * bytes per character of the answer.
 */
const megabytes = Number(process.argv[2] ?? 100);
const deltaLength = 200;
const count = (megabytes * 2 ** 20) / deltaLength;

/** The frames of a response on a wire: before the text, with a delta of it, and after it. */
interface Frames {
  readonly before?: readonly string[];
  readonly delta: (text: string) => string;
  readonly after: readonly string[];
}

const event = (data: object | string) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const line = (data: object) => `${JSON.stringify(data)}\n`;
const chunk = (delta: object, finish: string | null) =>
  event({ choices: [{ index: 0, delta, finish_reason: finish }] });
const item = { type: 'message', id: 'm', role: 'assistant', content: [] };

const framesOf: Readonly<Record<string, Frames>> = {
  mistral: { delta: (content) => chunk({ content }, null), after: [chunk({}, 'stop'), event('[DONE]')] },
  anthropic: {
    before: [
      event({ type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: {} } }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ],
    delta: (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    after: [
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} }),
      event({ type: 'message_stop' }),
    ],
  },
  google: {
    delta: (text) => event({ candidates: [{ content: { role: 'model', parts: [{ text }] } }] }),
    after: [event({ candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP' }] })],
  },
  responses: {
    before: [event({ type: 'response.output_item.added', output_index: 0, item })],
    delta: (text) =>
      event({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: text }),
    after: [event({ type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } })],
  },
  cohere: {
    delta: (text) => event({ type: 'content-delta', index: 0, delta: { message: { content: { text } } } }),
    after: [event({ type: 'message-end', delta: { finish_reason: 'COMPLETE' } })],
  },
  ollama: {
    delta: (content) => line({ message: { role: 'assistant', content }, done: false }),
    after: [line({ message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop' })],
  },
};

function usedHeap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

const textOf = (index: number) => String(index).padEnd(deltaLength, 'a text ');

/** A `fetch` with an answer that is made while it is read. `onLast` is called before the end of the answer. */
function fetchAnswer({ before = [], delta, after }: Frames, type: string, onLast: () => void): typeof fetch {
  const encoder = new TextEncoder();
  let index = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const frames = index === 0 ? [...before] : [];
    for (const end = Math.min(index + 100, count); index < end; index++) frames.push(delta(textOf(index)));
    if (index < count) {
      controller.enqueue(encoder.encode(frames.join('')));
      return;
    }
    onLast();
    controller.enqueue(encoder.encode([...frames, ...after].join('')));
    controller.close();
  };
  return () => Promise.resolve(new Response(new ReadableStream({ pull }), { headers: { 'content-type': type } }));
}

async function measure(provider: string, frames: Frames) {
  let streaming = 0;
  const type = provider === 'ollama' ? 'application/x-ndjson' : 'text/event-stream';
  const start = usedHeap();
  const perCharacter = (heap: number) => Number(((heap - start) / (Math.ceil(count) * deltaLength)).toFixed(2));
  const fetch = fetchAnswer(frames, type, () => (streaming = perCharacter(usedHeap())));
  const model = modelByName(`${provider}:m`, { apiKey: 'key', baseUrl: 'http://127.0.0.1:9', fetch, retry: false });
  const result = await lastValueFrom(createAgent({ model }).run('Write.'));
  const part = result.messages[0]?.parts.find(({ type: each }) => each === 'text');
  const isComplete =
    part?.type === 'text' && part.text === result.text && result.text.endsWith(textOf(Math.ceil(count) - 1));
  return { provider, isComplete, streaming, ended: perCharacter(usedHeap()) };
}

const measured = [];
for (const [provider, frames] of Object.entries(framesOf)) measured.push(await measure(provider, frames));
process.stdout.write(`${JSON.stringify(measured)}\n`);
