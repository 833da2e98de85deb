import { describe, expect, it } from '@jest/globals';
import { closeTail } from '../../../examples/angular-chat/src/app/markdown-tail.js';

const rows: readonly (readonly [block: string, shown: string])[] = [
  // Emphasis, code and links have the ends that are missing.
  ['A **bo', 'A **bo**'],
  ['A **bold*', 'A **bold**'],
  ['A **bold** t', 'A **bold** t'],
  ['A **', 'A '],
  ['A *b **c', 'A *b **c***'],
  ['An _it', 'An _it_'],
  ['snake_case', 'snake_case'],
  ['2 * 3 * 4', '2 * 3 * 4'],
  ['Some `co', 'Some `co`'],
  ['Some `a*b', 'Some `a*b`'],
  ['Some ``a`b', 'Some ``a`b``'],
  ['A ~~gone', 'A ~~gone~~'],
  ['A [li', 'A li'],
  ['A [link](https://exa', 'A link'],
  ['A [link](https://example.org)', 'A [link](https://example.org)'],
  ['- one\n- **tw', '- one\n- **tw**'],
  ['# A **he', '# A **he**'],
  // A marker whose meaning is not known yet is left out.
  ['A line\n-', 'A line'],
  ['A line\n=', 'A line'],
  ['1. one\n1', '1. one'],
  ['#', ''],
  ['``', ''],
  // Code is code from its fence on, and the end of it is not a part.
  ['```ts\nconst a = **', '```ts\nconst a = **'],
  ['```ts\nconst a = 1;\n``', '```ts\nconst a = 1;'],
  ['```ts\nconst a = 1;\n```', '```ts\nconst a = 1;\n```'],
  ['~~~\n```\ntext', '~~~\n```\ntext'],
  // A table is a table from its first cell on.
  ['|', ''],
  ['| a', '| a|\n|---|'],
  ['| a | b |', '| a | b |\n|---|---|'],
  ['| a | b |\n', '| a | b |\n|---|---|'],
  ['| a | b |\n|--', '| a | b |\n|---|---|'],
  ['| a | b |\n|---|---|\n| 1', '| a | b |\n|---|---|\n| 1'],
  ['| a | b |\n|:--|--:|\n| 1 | **2', '| a | b |\n|:--|--:|\n| 1 | **2**'],
];

describe('closeTail', () => {
  it.each(rows)('shows %j as %j', (block, shown) => expect(closeTail(block)).toBe(shown));
});
