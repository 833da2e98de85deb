import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { serveFrames, serveRecording } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';
import type { Recording } from 'rivulet/recording';

/** A recording that is served over HTTP. */
export interface Served {
  readonly server: LoopbackServer;
  /** The provider whose wire it is; undefined where the recording does not say. */
  readonly provider: string | undefined;
  /** How many answers the recording contains. */
  readonly answers: number;
}

/**
 * Serves a recording of any of the three kinds.
 *
 * @param path The stem of `STEM.chunks.txt` (one payload a line) and `STEM.expected.json`, or a JSON file: a recording
 * of `recordFetch`, or a list of frames.
 */
export async function serveRecorded(path: string): Promise<Served> {
  const stem = path.replace(/\.(chunks\.txt|expected\.json)?$/, '');
  if (existsSync(`${stem}.chunks.txt`)) return servePayloads(stem);
  const json: unknown = JSON.parse(await readFile(path, 'utf8'));
  if (Array.isArray(json)) return { server: await serveBody(json.map(String)), provider: undefined, answers: 1 };
  const recording = json as Recording;
  if (!('exchanges' in recording))
    throw new Error(`${path} is not a recording: it has no "exchanges" and is not a list of frames.`);
  const provider = providerOf(recording.exchanges[0]?.url ?? '');
  return { server: await serveRecording(recording), provider, answers: recording.exchanges.length };
}

interface Expected {
  readonly wire?: string;
  readonly protocol?: string;
  readonly framing?: { readonly kind?: string; readonly eventNames?: boolean };
}

/**
 * The framing is not in the file: Ollama's protocol has one line for each payload, all others are server-sent events.
 */
async function servePayloads(stem: string): Promise<Served> {
  const payloads = (await readFile(`${stem}.chunks.txt`, 'utf8')).split(/\r?\n/).filter((line) => line !== '');
  const expected = existsSync(`${stem}.expected.json`)
    ? (JSON.parse(await readFile(`${stem}.expected.json`, 'utf8')) as Expected)
    : {};
  const wire = expected.wire ?? basename(dirname(stem));
  const isNdjson = expected.framing?.kind === 'ndjson' || (expected.protocol ?? wire) === 'ollama';
  const framed = payloads.map((payload) => (isNdjson ? `${payload}\n` : `data: ${payload}\n\n`));
  const hasDone = !isNdjson && /^openai-(chat|compatible)$/.test(expected.protocol ?? wire);
  return {
    server: await serveBody([...framed, ...(hasDone ? ['data: [DONE]\n\n'] : [])]),
    provider: wire.replace(/^openai-compatible$/, 'openai-chat').replace(/^openai-responses$/, 'openai'),
    answers: 1,
  };
}

const serveBody = (frames: readonly string[]): Promise<LoopbackServer> =>
  serveFrames(frames, {
    headers: { 'content-type': /^\s*[{[]/.test(frames[0] ?? '') ? 'application/x-ndjson' : 'text/event-stream' },
  });

const paths: readonly (readonly [RegExp, string])[] = [
  [/:streamGenerateContent/, 'google'],
  [/\/messages/, 'anthropic'],
  [/\/responses/, 'openai'],
  [/\/api\/chat/, 'ollama'],
  [/\/v2\/chat/, 'cohere'],
  [/openrouter|\/api\/v1\/chat\/completions/, 'openrouter'],
  [/mistral/, 'mistral'],
  [/together/, 'together'],
  [/\/chat\/completions/, 'openai-chat'],
];

const providerOf = (url: string): string | undefined => paths.find(([path]) => path.test(url))?.[1];
