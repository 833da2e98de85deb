import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { version } from '../lib/observe/opentelemetry/version.js';
import * as rivulet from 'rivulet';
import * as anthropic from 'rivulet/anthropic';
import * as google from 'rivulet/google';
import * as openaiEntry from 'rivulet/openai';
import * as aiSdkUi from 'rivulet/ai-sdk-ui';
import * as mcp from 'rivulet/mcp';
import * as agUi from 'rivulet/ag-ui';
import * as angular from 'rivulet/angular';
import * as opentelemetry from 'rivulet/opentelemetry';
import * as aiSdk from 'rivulet/ai-sdk';
import * as registry from 'rivulet/registry';
import * as postgres from 'rivulet/postgres';
import * as dbos from 'rivulet/dbos';
import * as redis from 'rivulet/redis';
import * as chat from 'rivulet/chat';
import * as provider from 'rivulet/provider';
import * as service from 'rivulet/service';
import * as recording from 'rivulet/recording';
import * as testing from 'rivulet/testing';
import * as server from 'rivulet/testing/server';

// Users depend on these names: removing one is a breaking change.
describe('the public names', () => {
  it('rivulet exports these names', () => {
    expect(Object.keys(rivulet).sort()).toEqual([
      'ConfigurationError',
      'RivuletError',
      'accumulateToolCalls',
      'addUsage',
      'agentTool',
      'allOf',
      'anthropic',
      'asKnownEvent',
      'askTool',
      'backgroundTool',
      'cachePrompt',
      'cacheTool',
      'cohere',
      'consolidate',
      'costBudget',
      'costOf',
      'createAgent',
      'createLimiter',
      'createOperator',
      'deadlineTool',
      'elapsed',
      'emptyView',
      'endRun',
      'endTurn',
      'estimateTokens',
      'executeTools',
      'failedRunOf',
      'fallback',
      'filePart',
      'followUp',
      'google',
      'guardModel',
      'hasToolResults',
      'hedge',
      'holdBack',
      'isRunError',
      'keepRecent',
      'limitModel',
      'limitRepeatsTool',
      'limitTool',
      'messageText',
      'mistral',
      'modelMessage',
      'observeRun',
      'ofType',
      'ollama',
      'omitRefused',
      'openai',
      'openaiChat',
      'openaiCompatible',
      'openrouter',
      'outputElements',
      'partialArguments',
      'partialOutput',
      'pipeModel',
      'prefixAfterTools',
      'priceModel',
      'progress',
      'repairHistory',
      'repeatedCalls',
      'requestOf',
      'requireCapabilities',
      'retryModel',
      'retryTool',
      'runTurns',
      'selectOrchestrator',
      'smooth',
      'startState',
      'stopOn',
      'summarize',
      'systemMessage',
      'textFilter',
      'toText',
      'toView',
      'together',
      'tokenBudget',
      'tool',
      'toolCallIds',
      'toolCalled',
      'toolCallsOf',
      'toolCatalogue',
      'toolDefinition',
      'toolLoop',
      'turnCount',
      'twoPhase',
      'typed',
      'typedOutput',
      'unwrapOutput',
      'userMessage',
      'viewOf',
      'wrapTool',
    ]);
  });
  it('the entry points of vendors export their models and their tools', () => {
    expect(Object.keys(openaiEntry).sort()).toEqual([
      'background',
      'mcpApproval',
      'openai',
      'openaiChat',
      'responsesTools',
      'webSocketTransport',
    ]);
    expect(Object.keys(anthropic).sort()).toEqual(['anthropic', 'anthropicTools']);
    expect(Object.keys(google).sort()).toEqual(['google', 'googleInteractions', 'googleTools']);
    expect([openaiEntry.openai, openaiEntry.openaiChat, anthropic.anthropic, google.google]).toEqual([
      rivulet.openai,
      rivulet.openaiChat,
      rivulet.anthropic,
      rivulet.google,
    ]);
  });
  it('rivulet/registry exports these names', () => {
    expect(Object.keys(registry).sort()).toEqual([
      'createRegistry',
      'modelByName',
      'registerProvider',
      'registeredProviders',
    ]);
  });
  it('rivulet/ai-sdk-ui exports these names', () => {
    const names = ['fromUiMessages', 'toUiMessageStream', 'uiChatHandler', 'uiMessageResponse'];
    expect(Object.keys(aiSdkUi).sort()).toEqual(names);
  });

  it('rivulet/mcp exports these names', () => {
    expect(Object.keys(mcp).sort()).toEqual(['mcpSignIn', 'mcpTools']);
  });
  it('rivulet/ag-ui exports these names', () => {
    expect(Object.keys(agUi).sort()).toEqual([
      'agUiHandler',
      'agUiResponse',
      'clientTools',
      'fetchAgUi',
      'fromAgUi',
      'fromAgUiMessages',
      'historyOf',
      'readAgUiRequest',
      'runAgUi',
      'toAgUi',
      'toAgUiMessages',
    ]);
  });
  it('rivulet/angular exports these names', () => {
    const names = ['injectAgent', 'injectChats', 'injectConversation', 'injectRun', 'injectWaiting', 'provideAgent'];
    expect(Object.keys(angular).sort()).toEqual(names);
  });
  it('rivulet/opentelemetry exports these names', () => {
    expect(Object.keys(opentelemetry).sort()).toEqual(['traceAgent', 'traceModel']);
  });
  it('rivulet/ai-sdk exports these names', () => {
    expect(Object.keys(aiSdk).sort()).toEqual(['fromAiSdk']);
  });
  it('rivulet/postgres exports these names', () => {
    expect(Object.keys(postgres).sort()).toEqual([
      'migratePostgres',
      'pgNotifications',
      'pgliteNotifications',
      'postgresLog',
      'postgresMigrations',
      'postgresStore',
    ]);
  });
  it('rivulet/dbos exports these names', () => {
    expect(Object.keys(dbos).sort()).toEqual(['durableAgent', 'durableWorker']);
  });

  it('rivulet/redis exports these names', () => {
    expect(Object.keys(redis).sort()).toEqual(['redisLog', 'redisNotifications']);
  });

  it('rivulet/service exports these names', () => {
    expect(Object.keys(service).sort()).toEqual([
      'RunFullError',
      'RunNotFoundError',
      'RunTakenError',
      'agentHandler',
      'createRuns',
      'createService',
      'joinRun',
      'keepChats',
      'memoryLog',
      'memoryStore',
      'nodeListener',
      'runResponse',
      'shareRun',
      'toServerSentEvents',
    ]);
  });
  it('rivulet/chat exports these names', () => {
    expect(Object.keys(chat).sort()).toEqual([
      'RUN_ID_HEADER',
      'chatCopies',
      'conversation',
      'fromServerSentEvents',
      'pageTools',
      'persist',
      'remoteAgent',
      'remoteChats',
      'savedElsewhere',
    ]);
  });
  it('no entry exports the classes of errors, but their base, what a user throws, and what authors throw', () => {
    const errors = (names: object) => Object.keys(names).filter((name) => name.endsWith('Error'));
    expect(errors(rivulet)).toEqual(['ConfigurationError', 'RivuletError', 'isRunError']);
    expect(errors(provider)).toEqual([
      'ConnectionError',
      'HttpError',
      'ProtocolError',
      'ProviderError',
      'StreamInterruptedError',
      'providerError',
      'unsupportedBudgetError',
      'unsupportedResultFileError',
    ]);
    expect(errors(service)).toEqual(['RunFullError', 'RunNotFoundError', 'RunTakenError']);
    const others = [
      openaiEntry,
      anthropic,
      google,
      aiSdkUi,
      mcp,
      agUi,
      angular,
      aiSdk,
      registry,
      postgres,
      dbos,
      redis,
      chat,
    ];
    expect([...others, recording, testing, server, opentelemetry].flatMap(errors)).toEqual([]);
  });

  it('rivulet/recording exports these names', () => {
    expect(Object.keys(recording).sort()).toEqual([
      'RECORDING_VERSION',
      'drawRun',
      'inspectRuns',
      'playCall',
      'readRecording',
      'record',
      'recordFetch',
      'recordRun',
      'recordedEvent',
      'replay',
      'replayEvents',
      'replayRun',
      'writeSpec',
    ]);
  });
  it('rivulet/testing exports these names', () => {
    expect(Object.keys(testing).sort()).toEqual([
      'drawInVirtualTime',
      'expectMarbles',
      'inVirtualTime',
      'logContract',
      'marbleMatchers',
      'operatorContract',
      'parseDiagram',
      'playMarbles',
      'providerContract',
      'runAgent',
      'runDiagram',
      'scriptedModel',
      'storeContract',
      'toolCall',
      'toolContract',
    ]);
  });
  it('rivulet/testing/server exports these names', () => {
    expect(Object.keys(server).sort()).toEqual(['serveFrames', 'serveModel', 'serveRecording']);
  });
  it('the timeout of a model has a type without a name', () => {
    const timeout: rivulet.ModelOptions['timeout'] = { first: 1_000, each: 2_000, body: false };
    const options: rivulet.OptionsOf<typeof rivulet.openai> = { apiKey: 'key', timeout };
    expect(rivulet.openai('gpt-6.1-terra', options).provider).toBe('openai');
  });
});

/** The entry points of package.json, and the names that each exports: values and types. */
const entries = Object.entries(
  (JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, { import?: { types: string } }> })
    .exports,
).flatMap(([entry, { import: built }]): readonly [string, readonly string[]][] =>
  built
    ? [[entry.replace('.', 'rivulet'), namesOf(built.types.replace('./dist/esm', 'lib').replace('.d.ts', '.ts'))]]
    : [],
);

/** The exported names of a file of lib/. Without `export *`, so that each name is written by hand. */
function namesOf(file: string): readonly string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement))
      return statement.exportClause && ts.isNamedExports(statement.exportClause)
        ? statement.exportClause.elements.map(({ name }) => name.text)
        : [`not a list of names: ${statement.getText(source)}`];
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    return isExported && 'name' in statement ? [(statement.name as ts.Identifier).text] : [];
  });
}

/** The code of the guides and of the examples. In a guide, that is what stands in backticks. */
function documentedCode(): string {
  const guides = ['README.md', ...readdirSync('docs').map((name) => `docs/${name}`)];
  const examples = readdirSync('examples', { recursive: true, encoding: 'utf8' }).map((name) => `examples/${name}`);
  return [...guides, ...examples]
    .filter((file) => !file.includes('node_modules') && /\.(md|ts|js|html)$/.test(file))
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }))
    .map(({ file, text }) =>
      file.endsWith('.md') ? [...text.matchAll(/^```[^]*?^```|`[^`\n]+`/gm)].map(([code]) => code).join('\n') : text,
    )
    .join('\n');
}

describe('the number of public names', () => {
  it('rivulet has at most 150 names', () => {
    expect(entries.find(([entry]) => entry === 'rivulet')?.[1].length).toBeLessThanOrEqual(150);
  });
  it.each(entries.filter(([entry]) => entry !== 'rivulet'))('%s has at most 60 names', (_, names) => {
    expect(names.length).toBeGreaterThan(0);
    expect(names.length).toBeLessThanOrEqual(60);
  });
  it('all entry points together have at most 450 names', () => {
    const names = new Set(entries.flatMap(([, ofEntry]) => ofEntry));
    expect(names.size).toBeLessThanOrEqual(450);
  });
  it('the names of each entry are listed by hand, once', () => {
    for (const [, names] of entries) {
      expect(names.filter((name) => name.startsWith('not'))).toEqual([]);
      expect(names).toEqual([...new Set(names)]);
    }
    const [, root = []] = entries.find(([entry]) => entry === 'rivulet') ?? [];
    expect(Object.keys(rivulet).filter((name) => !root.includes(name))).toEqual([]);
  });
  it('each name is in a guide or an example', () => {
    const words = new Set(documentedCode().match(/\w+/g));
    const unknown = entries.flatMap(([entry, names]) =>
      names.filter((name) => !words.has(name)).map((name) => `${entry}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });
});

describe('docs/errors.md', () => {
  it('docs/errors.md lists the code of every error', async () => {
    const files = await readdir('lib', { recursive: true });
    const texts = await Promise.all(
      files.filter((name) => name.endsWith('.ts')).map((name) => readFile(join('lib', name), 'utf8')),
    );
    const codes = texts.flatMap((text) => [...text.matchAll(/readonly code = '(\w+)'/g)].map(([, code]) => code));
    const guide = await readFile('docs/errors.md', 'utf8');
    expect(codes.length).toBeGreaterThan(12);
    expect(codes.filter((code) => !guide.includes(`| \`${code}\` |`))).toEqual([]);
  });
});

describe('package.json', () => {
  it('package.json names the repository, the page and the tracker of the project', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, unknown>;
    const project = 'https://github.com/rivulet-rx/rivulet';
    expect(manifest).toMatchObject({
      homepage: expect.stringContaining(project),
      bugs: expect.stringContaining(project),
      repository: { type: 'git', url: `git+${project}.git` },
    });
  });
  it('package.json has the version that the spans of rivulet/opentelemetry name', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, unknown>;
    expect(version).toBe(manifest['version']);
  });
  it('package.json publishes in public, with provenance, and includes SECURITY.md', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      files: expect.arrayContaining(['SECURITY.md', 'CHANGELOG.md']),
      publishConfig: { access: 'public', provenance: true },
    });
  });
});
