import { Lexer, Marked, type Token } from 'marked';
import { closeTail } from './markdown-tail.js';

/** A text as blocks of HTML: paragraphs, lists, code, tables. */
export interface MarkdownBlocks {
  readonly text: string;
  readonly blocks: readonly { readonly source: string; readonly html: string }[];
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string) => text.replace(/[&<>"']/g, (character) => escapes[character] ?? '');

/**
 * HTML of the model is shown as text, and an image is a link: the page would otherwise load any address that a model
 * writes, and an address can carry the conversation away.
 */
const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => (text.startsWith('<!--') ? '' : escape(text)),
    image: ({ href, text }) => link(href, escape(text || href)),
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens));
    },
    code: ({ text }) => `<pre tabindex="0"><code>${escape(text)}</code></pre>`, // keyboards can scroll it
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

function link(href: string, html: string): string {
  if (!/^(https?:|mailto:)/i.test(href)) return html;
  return `<a href="${escape(href)}" target="_blank" rel="noopener noreferrer">${html}</a>`;
}

/**
 * Quotes and lists within each other up to this depth are shown as such. The parser calls itself for each: a line of
 * thousands of `>` would end it with a RangeError. What is deeper is text, after a space without width.
 */
const tooDeep = /^(?!([-*_])(?:[ \t]*\1)*[ \t]*$)(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){100}/gm;

/** For each mark, the parser searches the whole paragraph. A longer one, or one with more marks, is shown as it is. */
const MAX_PARAGRAPH = 4000;
const MAX_MARKS = 200;
const mark = /[*_]+|~+|[[<]/g;

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    const isShort = text.length <= MAX_PARAGRAPH && (text.match(mark) ?? []).length <= MAX_MARKS;
    if (isShort) return super.inlineTokens(text, tokens);
    tokens.push({ type: 'text', raw: text, text, escaped: false });
    return tokens;
  }
}

/** What many lines or marks nest too deeply for the parser is shown as it is. */
const asText = (raw: string): Token => {
  const tokens: Token[] = [{ type: 'text', raw, text: raw, escaped: false }];
  return { type: 'paragraph', raw, text: raw, tokens };
};

function toTokens(text: string): Token[] {
  try {
    return new BoundedLexer(marked.defaults).lex(text);
  } catch {
    return [asText(text)];
  }
}

function toHtml(tokens: Token[]): string {
  try {
    return marked.parser(tokens);
  } catch {
    return marked.parser(tokens.map(({ raw }) => asText(raw)));
  }
}

/** What is beyond it is shown as it is: all of a text is rendered at once when a stored chat is opened. */
const MAX_TEXT = 200_000;

/** More text can still change this many blocks: `1.` and `10` are a list and a paragraph until the dot after 10 arrives. */
const openBlocks = 2;

/**
 * Renders a text that grows. Only the last blocks are parsed again, so the work for a frame does not grow with the
 * length of the text.
 *
 * @param markdown The text so far.
 * @param previous What this function returned for a beginning of the text.
 * @param isGrowing Whether more text may arrive: what is open at the end is then shown as it will be.
 */
export function renderMarkdown(markdown: string, previous?: MarkdownBlocks, isGrowing = false): MarkdownBlocks {
  const whole = markdown.replace(/\r\n?/g, '\n').replace(tooDeep, '$&\u200b');
  const [text, rest] = [whole.slice(0, MAX_TEXT), whole.slice(MAX_TEXT)];
  const known = previous && text.startsWith(previous.text) ? previous.blocks.slice(0, -openBlocks) : [];
  const start = known.reduce((length, { source }) => length + source.length, 0);
  const blocks = [...known];
  for (const token of toTokens(text.slice(start))) {
    const last = blocks.at(-1);
    if (token.type === 'space' && last) blocks[blocks.length - 1] = { ...last, source: last.source + token.raw };
    else blocks.push({ source: token.raw, html: toHtml([token]) });
  }
  if (rest !== '') return { text, blocks: [...blocks, { source: rest, html: toHtml([asText(rest)]) }] };
  const last = blocks.at(-1);
  if (isGrowing && last && !last.source.endsWith('\n\n')) {
    const html = toHtml(toTokens(closeTail(last.source)));
    return { text, blocks: [...blocks.slice(0, -1), { ...last, html }] };
  }
  return { text, blocks };
}
