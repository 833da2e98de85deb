/**
 * A block of Markdown that still grows, as it will probably be shown: a table from its first cell on, and code, emphasis
 * and a link without the end that is missing. A marker whose meaning is not known yet is left out. So nothing is shown as
 * text first and as something else then.
 *
 * @param block The last block of the text so far.
 */
export function closeTail(block: string): string {
  const lines = block.split('\n');
  const fence = openFence(lines);
  const last = lines.at(-1) ?? '';
  if (fence) return /^\s*[`~]{1,2}$/.test(last) ? lines.slice(0, -1).join('\n') : block; // the end of the code begins
  if (/^\s*(?:`{3,}|~{3,})\s*$/.test(last)) return block; // the code is complete
  if (/^\s*\|/.test(lines[0] ?? '')) return closeTable(lines);
  if (/^\s*(?:[-=*+_>#]+|[~`]{1,2}|\d{1,9}[.)]?|\[|\|)\s*$/.test(last)) return lines.slice(0, -1).join('\n');
  const start = lines.findLastIndex((line) => /^\s*(?:[-*+>#]|\d+[.)])\s|^\s*$/.test(line));
  return [...lines.slice(0, Math.max(start, 0)), closeInline(lines.slice(Math.max(start, 0)).join('\n'))].join('\n');
}

/** The fence of the code that is open at the end. */
function openFence(lines: readonly string[]): string | undefined {
  let open: string | undefined;
  for (const line of lines) {
    const [, fence = '', info = ''] = /^\s*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (open === undefined && fence !== '') open = fence;
    else if (open !== undefined && fence.startsWith(open) && info.trim() === '') open = undefined;
  }
  return open;
}

/** A table with its first row at least. The line below that may be incomplete. */
function closeTable(lines: readonly string[]): string {
  const [first = '', second = '', ...rows] = lines;
  const head = closeInline(first).replace(/\|?\s*$/, '|');
  const columns = head.split(/(?<!\\)\|/).length - 2;
  if (columns < 1 || /^\s*\|\s*\|?$/.test(first)) return '';
  const isComplete =
    /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(second) && second.split('|').length - 2 >= columns;
  const body = rows.map((row, index) => (index === rows.length - 1 ? closeInline(row) : row));
  return [head, isComplete ? second : `|${'---|'.repeat(columns)}`, ...(isComplete ? body : [])].join('\n');
}

/** Closes what is open in a paragraph, a heading or an item of a list. */
function closeInline(text: string): string {
  const shown = text
    .replace(/!?\[([^\][]*)\]\([^()\s]*$/, '$1') // the address of a link is not complete
    .replace(/!?\[([^\][]*)\]?$/, '$1');
  const open: string[] = [];
  let end = shown.length;
  for (const { 0: mark, index } of shown.matchAll(/`+|\*{1,3}|_{1,2}|~~/g)) {
    const [before, after] = [shown[index - 1] ?? ' ', shown[index + mark.length]];
    if (open.at(-1)?.startsWith('`') && open.at(-1) !== mark) continue; // within code
    const isEnd = open.includes(mark) && /\S/.test(before);
    if (isEnd) open.splice(open.lastIndexOf(mark));
    else if (after === undefined) end = index; // it opens something, or is a part of an end
    else if (/\S/.test(after) && !(mark.startsWith('_') && /\w/.test(before))) open.push(mark);
  }
  if (open.length === 0) return shown.slice(0, end);
  return shown.slice(0, end).trimEnd() + open.reverse().join('');
}
