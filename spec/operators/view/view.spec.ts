import { describe, expect, it } from '@jest/globals';
import { from } from 'rxjs';
import { systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import type { RunResult, StreamEvent } from '../../../lib/core/event.js';
import { toView } from '../../../lib/operators/toView.js';
import { emptyView, viewOf } from '../../../lib/operators/view/view.js';
import { observe } from '../../support/observe.js';
import { exampleEvents } from '../../support/runs.js';

const withoutTransient = (parts: readonly { readonly type: string }[]) =>
  parts
    .filter(({ type }) => type !== 'thinking' && type !== 'serverTool')
    .map((part) => ({
      ...part,
      progress: undefined,
      providerData: undefined,
      text: (part as { text?: string }).text?.trim(),
    }));

describe('viewOf', () => {
  it('viewOf shows a stored history as the run has shown it', () => {
    const question = userMessage('How warm is it in Oslo?');
    const events = exampleEvents();
    const { result } = events.at(-1) as StreamEvent & { readonly result: RunResult };
    const seen = observe(from(events).pipe(toView(viewOf([question])))).values.at(-1) ?? emptyView;
    const stored = viewOf([question, ...result.messages]);
    expect(stored.messages.map(({ id, role }) => [id, role])).toEqual(seen.messages.map(({ id, role }) => [id, role]));
    expect(stored.messages.map(({ parts }) => withoutTransient(parts))).toEqual(
      seen.messages.map(({ parts }) => withoutTransient(parts)),
    );
  });

  it('viewOf shows no system message, and no message without content', () => {
    const empty: Message = { role: 'model', parts: [] };
    expect(viewOf([systemMessage('Be brief.'), empty])).toEqual(emptyView);
  });

  it('viewOf leaves a call without a result pending', () => {
    const call: Message = { role: 'model', parts: [{ type: 'toolCall', id: 'c', name: 'f', arguments: {} }] };
    expect(viewOf([call]).messages[0]?.parts).toEqual([
      { type: 'toolCall', id: 'c', name: 'f', arguments: {}, status: 'pending' },
    ]);
  });
});
