import { describe, expect, it } from '@jest/globals';
import { of } from 'rxjs';
import type { RunEvent } from '../../lib/core/event.js';
import type { FilePart, SourcePart } from '../../lib/core/message.js';
import { publicEvents } from '../../lib/service/publicEvents.js';
import { toUiMessageStream } from '../../lib/service/uiChat/index.js';
import { observe } from '../support/observe.js';

const eventOf = (part: SourcePart | FilePart): RunEvent =>
  part.type === 'source' ? { type: 'source', source: part } : { type: 'file', file: part };
const messageOf = (part: SourcePart | FilePart): RunEvent => ({
  type: 'message',
  message: { role: 'model', parts: [part] },
});

/** How a URL reaches a page. */
const ways: Readonly<Record<string, (part: SourcePart | FilePart) => readonly unknown[]>> = {
  'an event of a handler': (part) => observe(of(eventOf(part)).pipe(publicEvents({}))).values,
  'a message of a handler': (part) => observe(of(messageOf(part)).pipe(publicEvents({}))).values,
  'a chunk for useChat': (part) => observe(of(eventOf(part)).pipe(toUiMessageStream())).values,
  'a chunk of a handler': (part) =>
    observe(of(eventOf(part)).pipe(publicEvents({}), toUiMessageStream() as never)).values,
};

const scripts = ['javascript:alert(1)', ' JaVa\nScript:alert(1)', '\u0001javascript:alert(1)'];
const others = ['data:text/html,<script>', 'vbscript:x', 'file:///etc/passwd', 'gs://bucket/a', 'https://', 'blob:x'];
const links = ['https://a.example/?q=javascript:', 'HTTP://a.example', 'mailto:a@b.example', '/a/b.pdf', 'a', '//b.c'];

const sourceOf = (url: string): SourcePart => ({ type: 'source', url, title: 'A' });
const fileOf = (url: string): FilePart => ({ type: 'file', mediaType: 'image/png', url });
const rows: readonly (readonly [part: SourcePart | FilePart, isKept: boolean])[] = [
  ...[...scripts, ...others].map((url) => [sourceOf(url), false] as const),
  ...links.map((url) => [sourceOf(url), true] as const),
  ...scripts.map((url) => [fileOf(url), false] as const),
  ...['data:image/png;base64,AAAA', 'gs://bucket/a', 'https://a.example', 'https://'].map(
    (url) => [fileOf(url), true] as const,
  ),
];

describe.each(Object.entries(ways))('publicUrl, in %s', (_, send) => {
  it.each(rows.map(([part, isKept]) => ({ type: part.type, url: String(part.url), part, isKept })))(
    'publicUrl lets a page link only to what is a link: $type $url',
    ({ url, part, isKept }) => {
      const sent = JSON.stringify(send(part));
      expect(sent).toContain(`"url":${JSON.stringify(isKept ? url : `unsafe:${url}`)}`);
    },
  );
});
