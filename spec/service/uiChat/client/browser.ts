// A page: useChat, as published, in a React component in jsdom, with Node's fetch.
import { JSDOM } from 'jsdom';
import { createElement } from 'react';
import type * as aiReact from '@ai-sdk/react';
import type * as ai from 'ai';

const { window } = new JSDOM('<div id="root"></div>', { url: 'http://localhost/' });
Object.assign(globalThis, { window, document: window.document });
const { createRoot } = await import('react-dom/client');

export type UIMessage = ai.UIMessage<Record<string, unknown>>;
export type Helpers = aiReact.UseChatHelpers<UIMessage>;
type Options = NonNullable<Parameters<typeof aiReact.useChat<UIMessage>>[0]>;

/** One major version of the published packages. */
export interface Sdk {
  readonly major: 6 | 7;
  readonly ai: typeof ai;
  readonly react: typeof aiReact;
}

const published = async (major: 6 | 7, aiName: string, reactName: string): Promise<Sdk> => ({
  major,
  ai: (await import(aiName)) as typeof ai,
  react: (await import(reactName)) as typeof aiReact,
});

export const sdks: readonly Sdk[] = [
  await published(7, 'ai', '@ai-sdk/react'),
  await published(6, 'ai-6', '@ai-sdk/react-6'),
];

/** A chat on a page. */
export interface Page {
  /** What the component has rendered last. */
  readonly chat: Helpers;
  /** Resolves as soon as the component renders something that fits. */
  until(fits: (chat: Helpers) => boolean): Promise<Helpers>;
  close(): void;
}

const pages = new Set<Page>();

/** Closes the pages of a test. */
export function closePages(): void {
  for (const page of pages) page.close();
  pages.clear();
}

/** Opens a page with a chat. `api` is the URL of the service. */
export async function openChat(
  { react, ai: { DefaultChatTransport } }: Sdk,
  api: string,
  options: Options = {},
): Promise<Page> {
  const waiting = new Set<() => void>();
  let chat: Helpers | undefined;
  const transport = new DefaultChatTransport<UIMessage>({ api });
  const Chat = () => {
    chat = react.useChat<UIMessage>({ transport, ...options } as Options);
    queueMicrotask(() => [...waiting].forEach((check) => check()));
    return null;
  };
  const root = createRoot(window.document.createElement('div'));
  root.render(createElement(Chat));
  const current = () => {
    if (!chat) throw new Error('The page has not rendered.');
    return chat;
  };
  const page: Page = {
    get chat() {
      return current();
    },
    until: (fits) =>
      new Promise((resolve) => {
        const check = () => {
          if (!chat || !fits(chat)) return;
          waiting.delete(check);
          resolve(chat);
        };
        waiting.add(check);
        check();
      }),
    close: () => root.unmount(),
  };
  pages.add(page);
  await page.until(() => true);
  return page;
}

interface AnyPart {
  readonly type: string;
  readonly text?: string;
  readonly state?: string;
  readonly title?: string;
  readonly data?: unknown;
}

const partsOf = ({ messages }: Helpers) => (messages.at(-1)?.parts ?? []) as readonly AnyPart[];

/** The parts of the last message, in short: `text Hello`, `tool-weather output-available`. */
export const shown = (chat: Helpers): readonly string[] =>
  partsOf(chat)
    .filter(({ type }) => type !== 'step-start')
    .map(({ type, text, state, title, data }) => `${type} ${text ?? state ?? title ?? JSON.stringify(data)}`);

/** The text of the last message. */
export const textOf = (chat: Helpers): string =>
  partsOf(chat)
    .map(({ type, text = '' }) => (type === 'text' ? text : ''))
    .join('');

type AnyToolPart = Extract<UIMessage['parts'][number], { readonly toolCallId: string }>;

/** The calls of the last message. */
export const toolsOf = ({ messages }: Helpers): readonly AnyToolPart[] =>
  (messages.at(-1)?.parts ?? []).filter((part): part is AnyToolPart => 'toolCallId' in part);
