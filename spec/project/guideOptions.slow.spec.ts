import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as rxjs from 'rxjs';
import ts from 'typescript';
import { inlineCodeOf } from '../support/inlineCode.js';
import { PublicTypes } from '../support/publicTypes.js';

// Each option, field and function that the text of a guide names as code is in the public types, so that a renamed one
// leaves no stale line. Blocks of code are compiled: `readme.slow.spec.ts`, `npm run guides`, `npm run package`.

const types = new PublicTypes();
const guides = readdirSync('docs').filter((name) => name.endsWith('.md') && !name.startsWith('migrate-'));
const documents = ['README.md', ...guides.map((name) => join('docs', name))];

/** Names of the platform, of providers and of other packages, of commands, and of what a guide's reader writes. */
const foreign = new Set([
  ...[
    'aws4fetch',
    'measure',
    'systemDatabasePoolSize',
    'useBodyParser',
    'await',
    'false',
    'instanceof',
    'this',
    'true',
    'undefined',
    'unknown',
    'declaration',
  ],
  ...['closeAllConnections', 'credentials', 'forEach', 'hostname', 'innerHTML', 'localStorage', 'origin', 'parse'],
  ...['postMessage', 'stringify', 'uncaughtException', 'blob', 'https', 'now'],
  ...['fromPlatform', 'inject', 'lift', 'poll', 'providedIn', 'requireSync', 'rxResource', 'takeUntilDestroyed'],
  ...['toSignal', 'useChat', 'onUnhandledError', 'advanceTimersByTimeAsync', 'useFakeTimers', 'useRealTimers'],
  ...['discoveryState', 'finishAuth', 'requestInit', 'saveDiscoveryState', 'auth', 'getToken', 'token'],
  ...['cachedContent', 'documents', 'generateContent', 'generationConfig', 'labels', 'logprobs', 'modalities'],
  ...['safetySettings', 'think', 'thinkingLevel', 'timings', 'topK', 'transforms', 'truncation'],
  ...[
    'marked',
    'maxmemory',
    'noeviction',
    'pg',
    'pgvector',
    'rivulet',
    'rxjs',
    'tsx',
    'undici',
    'unsafe',
    'use',
    'req',
  ],
  ...['claude', 'gemini', 'googleai', 'mistralai', 'qwen3', 'togetherai', 'draw', 'inspect', 'spec', 'floor', 'track'],
  ...['maskEmails', 'pool', 'researcher', 'similarity', 'sqliteStore', 'embed', 'withSignedFiles', 'c1', 'f', 'p'],
  ...['elicitation', 'omitted', 'nanoid', 'cause', 'bodyLimit', 'preClose', 'preStop', 'terminationGracePeriodSeconds'],
  ...['enableShutdownHooks', 'beforeApplicationShutdown', 'onApplicationShutdown', 'redis', 'socketTimeout'],
  'reconnectStrategy',
  ...['aiSdk', 'answering', 'bases', 'chatCompletions', 'responses', 'steered'], // files and folders of the library
]);
const known = new Set([...types.names, ...Object.keys(rxjs), ...foreign]);

/** What has the names that guides give to values, as in `chat.send` and `exchange.error`. */
const values: Readonly<Record<string, readonly string[]>> = {
  agent: ['createAgent'],
  capabilities: ['Capabilities'],
  chat: ['Conversation', 'injectConversation'],
  context: ['ToolContext'],
  copies: ['ChatCopies'],
  error: ['RunError'],
  exchange: ['Exchange', 'ExchangeView'],
  handler: ['agentHandler'],
  model: ['Model', 'scriptedModel'],
  result: ['RunResult'],
  service: ['createService'],
  usage: ['Usage'],
  view: ['View', 'ConversationView'],
  worker: ['durableWorker'],
};

const isCommand = /^(?:np[mx]|node|docker|deno|bun) |^[\w./-]+\.(?:ts|tsx|js|jsonl|html|json)(?:\s|$)/;

/** The code in the text of a document, without commands, the names of files and hosts, and quoted texts. */
const codesOf = (document: string) =>
  inlineCodeOf(document)
    .filter((code) => !isCommand.test(code))
    .map((code) => code.replace(/'[^']*'|"[^"]*"|https?:\S+|\S+\.(?:com|org|aws)\b\S*/g, "''"));

/** A name alone, the member of a value, and the names of options, arguments and functions in a piece of code. */
const patterns = [
  /^([a-z]\w*\$?)(?:\(.*\))?$/g,
  /(?<![\w/.])[a-z]\w*(?:\(\))?\??\.([a-z]\w*\$?)/gi,
  /(?<![\w.$/-])([a-z]\w*\$?)(?=:(?!\/)|, | \}|\()/g,
];
const namesIn = (code: string) =>
  patterns
    .flatMap((pattern) => [...code.matchAll(pattern)].map(([, name = '']) => name))
    .filter((name) => !name.includes('_')); // fields of a provider, tables, error codes

/** The members of well-known values that a piece of code names. */
const membersIn = (code: string) =>
  [...code.matchAll(/(?<![\w/.])([a-z]\w*)(?:\(\))?\??\.([a-z]\w*\$?)/gi)].flatMap(
    ([text, value = '', member = '']) => {
      const of = values[value];
      return of && text !== 'error.type' ? [{ text, isKnown: types.propertiesOf(...of).has(member) }] : []; // of OpenTelemetry
    },
  );

/** The options that calls within a piece of code pass: the name of the function, and of the option. */
function passedIn(code: string): readonly (readonly [name: string, option: string])[] {
  const passed: (readonly [string, string])[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression))
      for (const argument of node.arguments.filter(ts.isObjectLiteralExpression))
        for (const { name } of argument.properties)
          if (name && ts.isIdentifier(name) && name.text !== '') passed.push([node.expression.text, name.text]);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('code.ts', code, ts.ScriptTarget.Latest));
  return passed;
}

/** The names in the first column of a table, by the heading of that column. */
const firstColumn = (document: string, heading: string): readonly string[] =>
  readFileSync(document, 'utf8')
    .split(/\n(?!\|)/)
    .map((block) => block.trim())
    .filter((block) => block.startsWith(`| ${heading} |`))
    .flatMap((block) => block.split('\n').slice(2))
    .flatMap((row) => [...(/^\| (.*?) \|/.exec(row)?.[1] ?? '').matchAll(/`(\w+\$?)`/g)].map(([, name = '']) => name));

describe('the names in the guides', () => {
  it.each(documents)('%s has only names that the public types have', (document) => {
    const unknown = codesOf(document).flatMap((code) =>
      namesIn(code).flatMap((name) => (known.has(name) ? [] : [`${name} of ${code}`])),
    );
    expect(unknown).toEqual([]);
  });

  it('each member of a value is in the types of the value, as in `exchange.error`', () => {
    const members = documents.flatMap((document) => codesOf(document).flatMap(membersIn));
    expect(members.length).toBeGreaterThan(30);
    expect(members.filter(({ isKnown }) => !isKnown).map(({ text }) => text)).toEqual([]);
  });
});

describe('the options in the guides', () => {
  const calls = documents.flatMap((document) =>
    inlineCodeOf(document).flatMap((code) =>
      passedIn(code).map(([name, option]) => ({ document, code, option, options: types.optionsOf(name) })),
    ),
  );

  it('the guides pass options to functions of the library', () => {
    expect(calls.filter((call) => call.options).length).toBeGreaterThan(50);
  });

  it('each option that a guide passes to a function is in its types', () => {
    const unknown = calls.filter((call) => call.options && !call.options.has(call.option));
    expect(unknown.map(({ document, code, option }) => `${document}: ${option} of ${code}`)).toEqual([]);
  });

  it.each([
    ['docs/angular.md', 'option', types.optionsOf('injectConversation')],
    ['docs/angular.md', 'signal', types.propertiesOf('injectConversation')],
  ])('the table of %s with the column %s has only names of injectConversation', (document, heading, known) => {
    const names = firstColumn(document, heading);
    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((each) => !known?.has(each))).toEqual([]);
  });
});
