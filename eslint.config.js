import { posix, relative, resolve, sep } from 'node:path';
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import regexp from 'eslint-plugin-regexp';
import rxjsX from 'eslint-plugin-rxjs-x';
import tseslint from 'typescript-eslint';

/** Imports go one way: a room of lib/ may import itself and the rooms listed here (ARCHITECTURE.md, "Rooms"). */
const rooms = {
  core: [],
  operators: ['core'],
  protocol: ['core'],
  providers: ['core', 'protocol'],
  agent: ['core', 'operators'],
  models: ['core', 'operators', 'protocol'],
  tools: ['core', 'operators', 'protocol'],
  transport: ['core', 'operators', 'protocol'],
  service: ['core', 'operators', 'protocol', 'transport', 'agent', 'service/stores'],
  'service/stores': ['core', 'operators', 'protocol', 'transport', 'agent', 'service'],
  chat: ['core', 'operators', 'protocol', 'transport', 'agent'],
  observe: ['core', 'operators', 'protocol', 'agent'],
};
const allRooms = Object.keys(rooms);
// The rooms of tools and programs, and the entry points beside them, see everything below.
rooms.testing = allRooms.filter((room) => room !== 'service/stores');
rooms['testing/server'] = ['core', 'testing', 'observe']; // it serves recordings
rooms.cli = [...allRooms, 'testing', 'testing/server'];
rooms.index = allRooms;
rooms.agUi = allRooms;

/** The dependencies at run time. */
const packages = ['rxjs', 'rxjs/testing', 'nanoid/non-secure', 'eventsource-parser'];
/** The packages that a room needs at run time: optional peer dependencies. */
const peers = {
  chat: ['@angular/core', '@angular/core/rxjs-interop'],
  observe: ['@opentelemetry/api'],
  cli: ['marked', 'marked-terminal'],
};
/** Packages that the user installs: lib/ imports their types only. */
const typesOnly = ['zod', '@ai-sdk/provider', '@modelcontextprotocol/client'];

/** Returns the room of a path inside lib/: `core/usage.js` is in `core`, `agent.js` in `agent`. */
function roomOf(path) {
  const parts = path.replace(/\.[jt]s$/, '').split('/');
  const inner = `${parts[0]}/${parts[1]}`;
  return inner in rooms ? inner : parts[0];
}

const oneWay = {
  meta: { type: 'problem', schema: [] },
  create(context) {
    const file = relative(resolve(import.meta.dirname, 'lib'), context.filename)
      .split(sep)
      .join('/');
    const room = roomOf(file);
    const allowed = rooms[room];

    /** Returns why a module may not be imported, or undefined. */
    function problemOf(source, isType) {
      if (source.startsWith('node:'))
        return ['testing/server', 'cli', 'service/stores'].includes(room)
          ? undefined
          : 'Only lib/testing/server, lib/service/stores and lib/cli may import Node built-ins: the library runs in browsers.';
      if (!source.startsWith('.')) {
        const known = [...packages, ...(peers[room] ?? [])];
        return known.includes(source) || (isType && typesOnly.includes(source))
          ? undefined
          : `"${source}" is not a dependency at run time: ${known.join(', ')}.`;
      }
      const target = roomOf(posix.join(posix.dirname(file), source));
      if (target === room || allowed?.includes(target)) return undefined;
      if (allowed === undefined) return `lib/${file} does not belong to a room: add its room to eslint.config.js.`;
      return `Imports go one way: ${room} may import ${allowed.join(', ') || 'no other room'}, not ${target}.`;
    }

    function check(node, source, isType) {
      const message = typeof source?.value === 'string' ? problemOf(source.value, isType) : undefined;
      if (message) context.report({ node: source, message });
    }

    return {
      ImportDeclaration: (node) => check(node, node.source, node.importKind === 'type'),
      ExportNamedDeclaration: (node) => check(node, node.source, node.exportKind === 'type'),
      ExportAllDeclaration: (node) => check(node, node.source, node.exportKind === 'type'),
      ImportExpression: (node) => check(node, node.source, false),
      TSImportType: (node) => check(node, node.source, true),
    };
  },
};

const timers = ['setTimeout', 'setInterval', 'setImmediate', 'requestAnimationFrame'].map((name) => ({
  name,
  message: 'Use timer or a scheduler of RxJS, so that virtual time works.',
}));
const nodeGlobals = ['process', 'Buffer', 'global', '__dirname', '__filename', 'require'].map((name) => ({
  name,
  message: 'Only Node has this global: the library runs in browsers, workers and edge runtimes.',
}));

const clocks = ['Date', 'performance'].map((object) => ({
  object,
  property: 'now',
  message: 'Use asyncScheduler.now(), so that virtual time works.',
}));

const zodByName = {
  selector:
    "ImportDeclaration[source.value='zod'] > :matches(ImportSpecifier[imported.name='z'], ImportDefaultSpecifier)",
  message: "Write import * as z from 'zod': any other form bundles 450 kB of locales.",
};
const bareObservable = {
  selector: "NewExpression[callee.name='Observable'] CallExpression[callee.property.name='subscribe']",
  message:
    'Use createOperator: with this form, an error in a handler is uncaught, and take(1) drains a synchronous source.',
};

/**
 * Rules that oxlint does not have, or decides differently: ESLint checks them for `npm run lint:all`. oxlint checks all
 * others (oxlint.config.js) for `npm run lint`.
 */
export const eslintOnly =
  /^(rxjs-x\/.*|regexp\/.*|house\/.*|max-len|no-octal|no-dupe-args|no-restricted-(globals|syntax)|no-unsafe-optional-chaining|@typescript-eslint\/(prefer-optional-chain|no-unsafe-(class-instance|enum)-assignment))$/;

export default defineConfig(
  {
    // lib/ reads the texts of others: no pattern may take longer than the text.
    files: ['lib/**'],
    ignores: ['lib/testing/**'], // the texts of a developer
    plugins: { regexp },
    rules: { 'regexp/no-super-linear-backtracking': 'error' },
  },
  {
    ignores: [
      'docs/.vitepress/{config.ts,theme/**}', // its packages are in docs/node_modules, which npm run site installs
      'docs/.vitepress/{cache,dist}/**',
      'docs/{api,diagrams}/**',
      'dist',
      '.stryker-tmp',
      'spec/checks/mutation/out',
      'coverage',
      'spec/checks/package/consumers',
      'spec/.readme',
      'spec/.suites',
      'spec/checks/bench/peers',
      'spec/checks/guides/out',
      'spec/checks/bench/out',
      'examples/angular-chat/{src,dist}', // checked by Angular's compiler, with its own TypeScript
      'spec/checks/browser', // they have packages of their own, which are not installed here
      'spec/service/agUi/client',
      'spec/chat/angular/client',
      'spec/service/uiChat/client',
      'examples/nest-service',
      '**/*.mjs',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked, rxjsX.configs.strict],
    rules: {
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true, allowNullish: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      'no-restricted-syntax': ['error', zodByName],
      'rxjs-x/throw-error': ['error', { allowThrowingAny: false, allowThrowingUnknown: true }], // what was caught
    },
  },
  {
    files: ['lib/**'],
    plugins: { house: { rules: { 'one-way': oneWay } } },
    rules: {
      'house/one-way': 'error',
      'no-console': 'error',
      'max-lines': ['error', { max: 250, skipComments: true, skipBlankLines: true }],
      'max-lines-per-function': ['error', { max: 80, skipComments: true, skipBlankLines: true }],
      'max-len': ['error', { code: 120, ignoreUrls: true }],
      'no-restricted-globals': ['error', { globals: [...timers, ...nodeGlobals], checkGlobalObject: true }],
      'no-restricted-properties': ['error', ...clocks],
    },
  },
  { files: ['lib/index.ts'], rules: { 'max-lines': 'off' } }, // a list of names
  {
    files: ['lib/{operators,transport,service,chat,observe/opentelemetry}/**'],
    ignores: ['lib/service/stores/**'], // the clients of databases are no Observables
    rules: { 'no-restricted-syntax': ['error', zodByName, bareObservable] },
  },
  {
    files: ['lib/testing/server/**', 'lib/cli/**'],
    rules: { 'no-restricted-globals': ['error', { globals: timers, checkGlobalObject: true }] },
  },
  {
    files: ['spec/**/*.ts', 'examples/**/*.ts', 'marbles/**/*.ts'],
    rules: {
      'rxjs-x/no-ignored-default-value': 'off',
      'rxjs-x/no-ignored-error': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  { files: ['**/*.js'], languageOptions: { globals: { URL: 'readonly' } } },
);
