import { describe, expect, it } from '@jest/globals';
import { tool } from '../../lib/core/tool.js';
import { scoreTools } from '../../lib/tools/scoreTools.js';

const named = (name: string, description: string, ...parameters: readonly string[]) =>
  tool({
    name,
    description,
    parameters: { type: 'object', properties: Object.fromEntries(parameters.map((one) => [one, {}])) },
    execute: () => '',
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
});
