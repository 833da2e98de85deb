import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isJsonObject, nonEmptyString } from '../../../lib/core/json/json.js';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { decodeAnthropic } from '../../../lib/providers/anthropic/decode.js';
import { encodeAnthropic } from '../../../lib/providers/anthropic/encode.js';
import { readAnswer } from '../../support/recordedAnswers.js';
import { serverToolsIn } from './frames.js';

const framesIn = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as JsonObject);

/** What a reader gets of an answer, and the blocks that are sent back. */
function answerIn(file: string) {
  const frames = framesIn(file);
  const { chunks, message } = readAnswer(decodeAnthropic, frames);
  const { body } = encodeAnthropic('claude-sample-1', {
    messages: [userMessage('?'), ...(message ? [message] : []), userMessage('!')],
  });
  const replayed = (body['messages'] as readonly JsonObject[])[1]?.['content'] as readonly JsonObject[];
  return {
    frames,
    replayed,
    message,
    tools: serverToolsIn(chunks).map(({ raw }) => raw),
    sources: chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : [])),
    files: chunks.flatMap((chunk) => (chunk.type === 'file' ? [chunk.file] : [])),
    containers: chunks.flatMap((chunk) =>
      chunk.type === 'metadata' && chunk.metadata['container'] ? [chunk.metadata['container']] : [],
    ),
  };
}

/** The blocks of an answer, joined from its frames by hand: the expected blocks to be sent back. */
function blocksOf(frames: readonly JsonObject[]): readonly JsonObject[] {
  const blocks: Record<string, JsonValue>[] = [];
  const json = new Map<number, string>();
  for (const { type, index, content_block: start, delta } of frames) {
    const at = Number(index);
    if (type === 'content_block_start' && isJsonObject(start)) blocks[at] = { ...start };
    const block = blocks[at];
    if (type !== 'content_block_delta' || !block || !isJsonObject(delta)) continue;
    if (typeof delta['text'] === 'string') block['text'] = (nonEmptyString(block['text']) ?? '') + delta['text'];
    if (typeof delta['partial_json'] === 'string') json.set(at, `${json.get(at) ?? ''}${delta['partial_json']}`);
    if (isJsonObject(delta['citation']))
      block['citations'] = [...((block['citations'] ?? []) as JsonObject[]), delta['citation']];
  }
  for (const [at, input] of json) Object.assign(blocks[at] ?? {}, { input: JSON.parse(input) as JsonValue });
  return blocks;
}

const textIn = ({ text }: JsonObject): string => nonEmptyString(text) ?? '';
const isCited = ({ citations }: JsonObject): boolean => Array.isArray(citations) && citations.length > 0;

/** Joins neighbouring texts without citations, as a message does, and omits blank ones, which the API refuses. */
function joined(blocks: readonly JsonObject[]): readonly JsonObject[] {
  const all: JsonObject[] = [];
  for (const { citations, ...block } of blocks) {
    const last = all.at(-1);
    const cited = Array.isArray(citations) && citations.length > 0;
    if (block['type'] === 'text' && !cited && last?.['type'] === 'text' && last['citations'] === undefined)
      all[all.length - 1] = { ...last, text: textIn(last) + textIn(block) };
    else all.push({ ...block, ...(cited ? { citations } : {}) });
  }
  return all.filter(({ type, text }) => type !== 'text' || (nonEmptyString(text) ?? '').trim() !== '');
}

describe('readResultChunks and readCitedSource, in recorded answers', () => {
  it('readResultChunks returns the pages of a web fetch as sources and their content as files', () => {
    const { frames, replayed, tools, sources, files, message } = answerIn(
      'spec/recordings/anthropic/web-fetch.chunks.txt',
    );
    expect(tools).toEqual(blocksOf(frames).filter(({ type }) => type !== 'text'));
    expect(tools).toHaveLength(6);
    expect(sources).toEqual([
      { type: 'source', url: 'https://tides.example/brest', title: 'Tides of Brest' },
      { type: 'source', url: 'https://tides.example/table.pdf' },
      { type: 'source', title: 'Tides of Brest', text: 'high water 04:12' },
    ]);
    const page = btoa('Brest: high water 04:12, low water 10:31.');
    expect(files).toEqual([
      { type: 'file', mediaType: 'text/plain', data: page, name: 'Tides of Brest' },
      { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0xLjQK', name: 'https://tides.example/table.pdf' },
    ]);
    expect(message?.parts.filter(({ type }) => type === 'file')).toEqual(files);
    expect(message?.parts.filter(({ type }) => type === 'source')).toEqual(sources);
    expect(replayed).toEqual(joined(blocksOf(frames)));
  });

  it('readResultChunks returns the files of a code execution by id, and the container is reported and stored', () => {
    const { frames, replayed, tools, sources, files, containers, message } = answerIn(
      'spec/recordings/anthropic/code-execution-files.chunks.txt',
    );
    expect(tools).toEqual(blocksOf(frames).filter(({ type }) => type !== 'text'));
    expect(sources).toEqual([
      { type: 'source', id: 'file_chart01' },
      { type: 'source', id: 'file_table01' },
    ]);
    expect(files).toEqual([]);
    const container = { id: 'container_tide01', expires_at: '2026-03-01T07:00:00Z' };
    expect(containers).toEqual([container]);
    expect(message?.parts.at(-1)).toEqual({ type: 'provider', provider: 'anthropic', data: { container } });
    expect(replayed).toEqual(joined(blocksOf(frames)));
  });

  const shared = '../shared/recordings/anthropic';
  const withShared = existsSync(shared) ? it : it.skip;

  withShared('readCitedSource returns each cited passage of a web search, and every block is sent back', () => {
    const { frames, replayed, tools, sources, files, message } = answerIn(`${shared}/web-search-citations.chunks.txt`);
    expect(tools).toEqual(blocksOf(frames).filter(({ type }) => type !== 'text'));
    expect(tools).toHaveLength(2);
    expect(sources).toHaveLength(3);
    expect(sources.map(({ url }) => url)).toEqual(Array(3).fill('https://weather.metoffice.gov.uk/forecast/gcpvj0v07'));
    expect(new Set(sources.map(({ text }) => text)).size).toBe(3);
    expect(message?.parts.filter(({ type }) => type === 'source')).toEqual(sources);
    expect(files).toEqual([]);
    expect(replayed.filter(isCited)).toEqual(blocksOf(frames).filter(isCited));
    expect(replayed.filter(({ type }) => type !== 'text')).toEqual(tools);
  });

  withShared(
    'readResultChunks returns nothing for an execution without files, and the container is reported and stored',
    () => {
      const { frames, replayed, tools, sources, files, containers, message } = answerIn(
        `${shared}/code-execution.chunks.txt`,
      );
      expect(tools).toEqual(blocksOf(frames).filter(({ type }) => type !== 'text'));
      expect(tools).toHaveLength(4);
      expect([...sources, ...files]).toEqual([]);
      expect(containers).toMatchObject([{ id: 'container_01Qh1LG5zm6onKQjYrHnhrvi' }]);
      expect(message?.parts.at(-1)).toMatchObject({ data: { container: containers[0] } });
      expect(replayed).toEqual(blocksOf(frames));
    },
  );
});
