import { mergeRanges, replaceRanges } from './secrets.js';
import type { Range } from './secrets.js';

/** How much of a text must be the conversation's to be hidden, in letters and digits: less occurs in any message. */
const shortestMatch = 16;

/** Every match contains a window that begins at a multiple of its size. */
const windowSize = 8; // half of the shortest match

/** How many occurrences of a window are compared: code may contain one a thousand times. */
const maxOccurrences = 16;

/**
 * Makes a function that replaces what a text repeats of a conversation. Only letters and digits are compared, so that
 * the text may be escaped, cut, or on one line.
 *
 * @param texts The texts of the conversation. They are joined: each search is one pass over them.
 */
export function createConversationFilter(texts: readonly string[]): (text: string) => string {
  const conversation = normalize(texts.join(' '));
  if (conversation.length < shortestMatch) return (text) => text;
  return (text) => {
    const { letters, starts, ends } = lettersOf(text);
    const ranges: Range[] = [];
    for (let start = 0; start + windowSize <= letters.length; start += windowSize) {
      const [from, to] = longestMatch(letters, conversation, start);
      if (to - from < shortestMatch) continue;
      ranges.push([starts[from] ?? 0, ends[to - 1] ?? text.length]);
      start = Math.max(start, to - windowSize);
    }
    return replaceRanges(text, mergeRanges(ranges), '[conversation]');
  };
}

/** The escapes of JSON, also of JSON within JSON. */
const escape = /\\+(?:u([\da-f]{4})|[bfnrt])/gi;

function normalize(text: string): string {
  const unescaped = text.includes('\\') ? text.replace(escape, unescape) : text;
  return unescaped.replace(/[^\p{L}\p{N}]+/gu, '');
}

const unescape = (_: string, code?: string): string => (code ? String.fromCharCode(parseInt(code, 16)) : ' ');

interface Letters {
  readonly letters: string;
  /** Where each begins and ends in the text. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** The letters and digits of a text. */
function lettersOf(text: string): Letters {
  const letters: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  for (const { 0: token, 1: code, index } of text.matchAll(/\\+(?:u([\da-f]{4})|[bfnrt])|[^\\]/giu)) {
    const letter = normalize(token.startsWith('\\') ? unescape(token, code) : token);
    for (const unit of letter.split('')) {
      letters.push(unit);
      starts.push(index);
      ends.push(index + token.length);
    }
  }
  return { letters: letters.join(''), starts, ends };
}

/** The longest part of the text around a window that is in the conversation; empty where the window is not. */
function longestMatch(text: string, conversation: string, start: number): Range {
  const window = text.slice(start, start + windowSize);
  let longest: Range = [start, start];
  let found = conversation.indexOf(window);
  for (let count = 0; found >= 0 && count < maxOccurrences; count++) {
    let [from, to] = [start, start + windowSize];
    while (from > 0 && text[from - 1] === conversation[found + from - 1 - start]) from--;
    while (to < text.length && text[to] === conversation[found + to - start]) to++;
    if (to - from > longest[1] - longest[0]) longest = [from, to];
    found = conversation.indexOf(window, found + 1);
  }
  return longest;
}
