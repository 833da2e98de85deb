import { describe, expect, it } from '@jest/globals';
import { tool } from '../../lib/core/tool.js';
import { scoreTools } from '../../lib/tools/scoreTools.js';
import { expectLinear } from '../support/cost.js';

const named = (name: string, description: string, ...parameters: readonly string[]) =>
  // Not by `tool`, which rejects names that no provider accepts: MCP servers have such names.
  ({
    name,
    description,
    parameters: { type: 'object', properties: Object.fromEntries(parameters.map((one) => [one, {}])) },
  });
const tools = [
  named('create_issue', 'Creates an issue in a repository.', 'title', 'body'),
  named('closeIssue', 'Closes an issue.', 'number'),
  named('list_repositories', 'Lists the repositories of a user.', 'user'),
  named('send_mail', 'Sends an e-mail.', 'recipient', 'subject'),
  named('convert', 'Rechnet Beträge um: 10 € in £.', 'währung'),
];
/** The names of the tools that match, the best first. */
const found = (query: string) => {
  const scores = scoreTools(query, tools);
  return tools
    .map(({ name }, at) => ({ name, score: scores[at] ?? 0 }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ name }) => name);
};

describe('scoreTools', () => {
  it.each([
    ['close an issue', 'closeIssue'],
    ['CREATE ISSUE', 'create_issue'],
    ['repository', 'list_repositories'],
    ['write to a recipient', 'send_mail'],
    ['Beträge', 'convert'],
    ['währung', 'convert'],
  ])('scoreTools finds for %j first: %s', (query, name) => {
    expect(found(query)[0]).toBe(name);
  });

  it('scoreTools scores 0 for tools that share no word with the query', () => {
    expect(found('knit pullovers')).toEqual([]);
    expect(found('')).toEqual([]);
    expect(scoreTools('mail', [])).toEqual([]);
  });

  it('scoreTools counts rare words more than frequent ones', () => {
    const many = Array.from({ length: 50 }, (_, at) => named(`user_report_${at}`, 'Prints a report of a user.'));
    const scores = scoreTools('user mail', [...many, ...tools]);
    expect(Math.max(...scores)).toBe(scores[many.length + 3]);
  });

  it('scoreTools scores as BM25: a word of the name counts three times, and a long text less', () => {
    const pair = [named('alpha', 'beta gamma'), named('delta', 'beta epsilon zeta eta theta', 'iota')];
    // The name counts as 3 words, so the lengths are 5 and 9, and the mean is 7.
    const points = (frequency: number, length: number) =>
      (frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * length) / 7));
    const [inOne, inBoth] = [Math.log(2), Math.log(1.2)];
    const expectScores = (query: string, scores: readonly number[]) =>
      scoreTools(query, pair).forEach((score, at) => expect(score).toBeCloseTo(scores[at] ?? NaN, 10));
    expectScores('alpha', [inOne * points(3, 5), 0]);
    expectScores('iota', [0, inOne * points(1, 9)]);
    expectScores('beta', [inBoth * points(1, 5), inBoth * points(1, 9)]);
    expectScores('Beta, beta and alpha!', [inBoth * points(1, 5) + inOne * points(3, 5), inBoth * points(1, 9)]);
    expectScores('gammas', [inOne * points(0.5, 5), 0]);
  });

  it.each([
    ['invoice', 'invoices', true],
    ['query', 'queries', true],
    ['cat', 'cats', true],
    ['buy', 'buyers', true],
    ['act', 'actions', false],
    ['go', 'goes', false],
    ['care', 'cars', false],
    ['query', 'querulous', false],
    ['invoice', 'voice', false],
    ['create', 'crater', false],
  ])('scoreTools takes %s and %s for forms of one word: %s', (one, other, areForms) => {
    const score = (query: string, word: string) => scoreTools(query, [named('tool', word)])[0] ?? 0;
    expect([score(one, other) > 0, score(other, one) > 0]).toEqual([areForms, areForms]);
  });

  it('scoreTools counts other forms of a word only if the word itself is not in the text', () => {
    const score = (description: string) => scoreTools('invoice', [named('pay', description)])[0] ?? 0;
    expect(score('invoice invoices')).toBe(score('invoice letters'));
    expect(score('invoiced invoices')).toBe(score('invoice letters'));
    expect(score('invoices letters')).toBeLessThan(score('invoice letters'));
  });

  it.each([
    ['v2Orders', 'orders'],
    ['v2Orders', 'v2'],
    ['exportPDF', 'pdf'],
    ['list-orders.2026', '2026'],
    ['заказыКлиента', 'клиента'],
  ])('scoreTools finds the words of the name %s: %s', (name, query) => {
    expect(scoreTools(query, [named(name, '')])[0]).toBeGreaterThan(0);
  });

  it('scoreTools finds nothing for words that say nothing', () => {
    const fillers = 'a an and by for from in is it of on or the to with';
    expect(scoreTools(fillers, [named('tool', fillers)])).toEqual([0]);
  });

  it('scoreTools scores a tool whose parameters have no list of properties', () => {
    const free = tool({ name: 'free', description: 'Anything.', parameters: { type: 'object' }, execute: () => '' });
    expect(scoreTools('anything', [free])[0]).toBeGreaterThan(0);
    expect(scoreTools('properties', [free])).toEqual([0]);
  });

  it('scoreTools counts no words for a tool without parameters, and none for a text without words', () => {
    const free = tool({ name: 'pay', description: 'Pays.', parameters: { type: 'object' }, execute: () => '' });
    const [withoutList, withList] = scoreTools('pay', [free, named('pay', 'Pays.')]);
    expect(withoutList).toBe(withList);
    const [withoutText, withFillers] = scoreTools('pay', [named('pay', ''), named('pay', 'of the')]);
    expect(withoutText).toBe(withFillers);
  });

  it('scoreTools reads the first 10,000 characters of a tool, with the names of its parameters', () => {
    const long = 'a '.repeat(4997); // 9994 characters
    const points = (description: string, ...parameters: readonly string[]) =>
      scoreTools('mail', [named('tool', description, ...parameters)])[0] ?? 0;
    expect([points(`${long}mail`), points(`${long}  mail`), points(`${long}  x mail`)]).toEqual([
      expect.any(Number),
      points(`${long}mail`),
      0,
    ]);
    expect(points(`${long}mail`)).toBeGreaterThan(0);
    expect([points(long, 'mail') > 0, points(`${long}more`, 'mail')]).toEqual([true, 0]);
  });

  const query = Array.from({ length: 32 }, (_, at) => `find${at}`).join(' ');
  const words = (count: number, first: string) =>
    Array.from({ length: count }, (_, at) => `${first}${at.toString(36)}`).join(' ');

  it('scoreTools takes as long for a very long description as for one of 10,000 characters', () => {
    const descriptions = [words(2000, 'word'), words(200_000, 'word')];
    expectLinear((text) => scoreTools(query, [named('tool', text)]), descriptions, 4);
  });

  it('scoreTools compares a word only with words that may be its forms', () => {
    const many = Array.from({ length: 100 }, (_, at) => named(`tool_${at}`, words(1200, 'word')));
    scoreTools(query, many); // counts the words
    expectLinear((asked) => scoreTools(asked, many), ['find', query], 4);
  });
});
