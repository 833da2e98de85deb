import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, jest } from '@jest/globals';
import { concat, NEVER, Observable, of, Subject, tap } from 'rxjs';
import { uiMessageResponse } from '../../../lib/service/uiChat/index.js';
import type { UiMessageChunk } from '../../../lib/service/uiChat/index.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import { shareRun } from '../../../lib/service/runs/shareRun.js';
import { exampleRun } from '../../support/runs.js';
import { readUiMessage } from './readUiMessage.js';

const text = (value: string): StreamEvent => ({ type: 'text', text: value }) as StreamEvent;
const chunksIn = (body: string): readonly UiMessageChunk[] =>
  body
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as UiMessageChunk);

describe('uiMessageResponse', () => {
  it('uiMessageResponse sends its body over a socket of node:http', async () => {
    const server = createServer(
      nodeListener(() => Promise.resolve(uiMessageResponse(exampleRun(), { headers: { 'x-own': '1' } }))),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const sent = await response.text();
    server.close();
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-own': '1',
    });
    expect(sent.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(readUiMessage(chunksIn(sent)).parts).toHaveLength(10);
    expect(await uiMessageResponse(exampleRun()).text()).toBe(sent);
  });

  it('uiMessageResponse unsubscribes a run when its body is cancelled, and only leaves a shared run', async () => {
    const stopped = jest.fn();
    const endless = concat(of(text('a')), NEVER).pipe(tap({ unsubscribe: stopped }));
    await uiMessageResponse(endless).body?.cancel();
    expect(stopped).toHaveBeenCalledTimes(1);
    await uiMessageResponse(shareRun(endless)).body?.cancel();
    expect(stopped).toHaveBeenCalledTimes(1);
  });

  it('uiMessageResponse stores nothing for a slow reader: the deltas that wait are merged', async () => {
    const source = new Subject<StreamEvent>();
    const response = uiMessageResponse(source);
    const long = 'x'.repeat(20_000); // more than the body buffers
    for (const value of [long, 'a', 'b', 'c']) source.next(text(value));
    source.complete();
    const deltas = chunksIn(await response.text()).filter(({ type }) => type === 'text-delta');
    expect(deltas).toEqual([
      { type: 'text-delta', id: 'text-1', delta: long },
      { type: 'text-delta', id: 'text-1', delta: 'abc' },
    ]);
  });

  it('uiMessageResponse sends comments while a run is silent, and none after its end', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const source = new Subject<StreamEvent>();
    const response = uiMessageResponse(source, { heartbeat: 10 });
    jest.advanceTimersByTime(20);
    source.complete();
    jest.useRealTimers();
    const body = await response.text();
    expect(body.match(/: keep-alive\n\n/g)?.length).toBeGreaterThan(0);
    expect(readUiMessage(chunksIn(body)).parts).toEqual([]);
  });

  it('uiMessageResponse reports an event that is not JSON as an error', async () => {
    const result = { type: 'toolResult', id: 'c1', name: 'n', result: 1n };
    const run = new Observable<StreamEvent>((out) => {
      out.next(text('a'));
      out.next(result);
    });
    const message = readUiMessage(chunksIn(await uiMessageResponse(run).text()));
    expect(message).toMatchObject({ error: 'The run failed.', parts: [{}, { text: 'a', state: 'done' }] });
  });
});
