import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { completed, itemAdded, itemDone, messageItem, read, serverReports, textDelta } from './frames.js';

describe('readCitedSources and readCreatedFiles', () => {
  const page = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 5 };
  const file = {
    type: 'container_file_citation',
    container_id: 'cntr_1',
    file_id: 'cfile_1',
    filename: 'plot.png',
    start_index: 0,
    end_index: 1,
  };
  const annotate = (annotation: JsonObject) => ({
    type: 'response.output_text.annotation.added',
    item_id: 'msg_1',
    annotation,
  });

  it('readCitedSources returns sources that are emitted once, even if they are cited or sent again', async () => {
    const item = messageItem('Hello', 'msg_1', [page, { ...page, start_index: 3 }, file]);
    const { chunks, text } = await read([
      textDelta('Hello'),
      annotate(page),
      annotate(page),
      itemDone(item),
      completed([item]),
    ]);
    expect(chunks.filter(({ type }) => type === 'source')).toEqual([
      { type: 'source', source: { type: 'source', url: 'https://a.example', title: 'A', start: 0, end: 5 } },
      {
        type: 'source',
        source: {
          type: 'source',
          id: 'cfile_1',
          title: 'plot.png',
          start: 0,
          end: 1,
          providerData: { openai: { container_id: 'cntr_1' } },
        },
      },
    ]);
    expect(text).toBe('Hello');
  });

  it('readCitedSources returns the position at which the citation of a file is to be inserted', async () => {
    const cited = { type: 'file_citation', file_id: 'f1', filename: 'a.pdf', index: 4 };
    const path = { type: 'file_path', file_id: 'f2', index: 0 };
    const { chunks } = await read([completed([messageItem('Hello', 'msg_1', [cited, path])])]);
    expect(chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []))).toEqual([
      { type: 'source', id: 'f1', title: 'a.pdf', start: 4, end: 4 },
      { type: 'source', id: 'f2' },
    ]);
  });

  it('readCreatedFiles reports a generated SVG as image/svg+xml', async () => {
    const item = {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'completed',
      output_format: 'svg',
      result: 'AQID',
    };
    const { chunks } = await read([itemAdded({ type: item.type, id: 'ig_1' }), itemDone(item), completed([item])]);
    expect(chunks.find(({ type }) => type === 'file')).toMatchObject({ file: { mediaType: 'image/svg+xml' } });
  });

  it('readCreatedFiles returns a generated image once, and partial images are metadata', async () => {
    const partial = {
      type: 'response.image_generation_call.partial_image',
      item_id: 'ig_1',
      partial_image_index: 0,
      partial_image_b64: 'AA==',
    };
    const item = {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'completed',
      output_format: 'webp',
      revised_prompt: 'p',
      result: 'AQID',
    };
    const frames = [
      itemAdded({ type: item.type, id: 'ig_1', status: 'in_progress' }),
      partial,
      partial,
      itemDone(item),
      completed([item]),
    ];
    const { chunks, message } = await read(frames);
    const image = {
      type: 'file',
      mediaType: 'image/webp',
      data: 'AQID',
      providerData: { openai: { ...item, result: undefined } },
    };
    expect(chunks.filter(({ type }) => type === 'file')).toEqual([{ type: 'file', file: image }]);
    expect(message?.parts.filter(({ type }) => type !== 'provider')).toEqual([image]);
    const tool = { id: 'ig_1', name: 'image_generation' };
    expect(await serverReports(frames)).toEqual([
      { ...tool, status: 'running', raw: { type: item.type, id: 'ig_1', status: 'in_progress' } },
      { ...tool, status: 'running', raw: partial },
      {
        ...tool,
        status: 'completed',
        raw: { type: item.type, id: 'ig_1', status: 'completed', output_format: 'webp', revised_prompt: 'p' },
      },
    ]);
  });

  it('readCreatedFiles returns the images of a code interpreter', async () => {
    const item = {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      code: 'plot()',
      container_id: 'c',
      outputs: [
        { type: 'logs', logs: '1' },
        { type: 'image', url: 'data:image/png;base64,AQID' },
      ],
    };
    const { chunks } = await read([itemDone(item), completed([item])]);
    expect(chunks.filter(({ type }) => type === 'file')).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AQID' } },
    ]);
  });
});
