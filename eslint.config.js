import { posix, relative, resolve, sep } from 'node:path';
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import rxjsX from 'eslint-plugin-rxjs-x';
import tseslint from 'typescript-eslint';

/** Imports go one way: a room of lib/ may import itself and the rooms named here. */
const rooms = {
  core: [],
  protocol: ['core'],
  operators: ['core'],
  providers: ['core', 'protocol'],
  registry: ['core', 'providers'],
  orchestrators: ['core', 'operators'],
  agent: ['core', 'operators', 'orchestrators'],
  models: ['core', 'operators', 'protocol'],
  tools: ['core', 'operators'],
  ui: ['core', 'operators', 'protocol', 'agent'],
  bridges: ['core', 'operators', 'orchestrators', 'protocol', 'agent', 'ui'],
  'bridges/mcp': ['core'],
  testing: ['core', 'protocol', 'providers', 'operators', 'orchestrators', 'agent', 'models', 'tools', 'ui'],
  'testing/server': ['core', 'testing'],
  // The public entry point: no room imports it. registry, bridges and testing are entry points of their own.
  index: ['core', 'protocol', 'providers', 'operators', 'orchestrators', 'agent', 'models', 'tools', 'ui'],
};

/** What runs in production. zod, the AI SDK and the MCP client are the user's: their types may be named, no more. Node's own modules are for the loopback server. */
const packages = ['rxjs', 'rxjs/testing', 'nanoid/non-secure', 'eventsource-parser'];
const namedOnly = ['zod', '@ai-sdk/provider', '@modelcontextprotocol/client'];

/** The room of a path inside lib/, with `/` between its parts: `core/usage.js` is in `core`, `agent.js` in `agent`. */
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

    function fault(source, isType) {
      if (source.startsWith('node:'))
        return room === 'testing/server'
          ? undefined
          : 'No Node built-in in lib/ but testing/server: the library runs in browsers.';
      if (!source.startsWith('.')) {
        return packages.includes(source) || (isType && namedOnly.includes(source))
          ? undefined
          : `"${source}" is not among what runs in production: ${packages.join(', ')}.`;
      }
      const target = roomOf(posix.join(posix.dirname(file), source));
      if (target === room || allowed?.includes(target)) return undefined;
      if (allowed === undefined) return `lib/${file} is in no room: see the list in eslint.config.js.`;
      return `Imports go one way: ${room} may import ${allowed.join(', ') || 'nothing of ours'}, not ${target}.`;
    }

    function check(node, source, isType) {
      const message = typeof source?.value === 'string' ? fault(source.value, isType) : undefined;
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
  message: 'Time goes through RxJS (timer, asyncScheduler), so that virtual time works.',
}));
const ofNode = ['process', 'Buffer', 'global', '__dirname', '__filename', 'require'].map((name) => ({
  name,
  message: 'Node only: the library runs in browsers, workers and edge runtimes.',
}));

const clocks = ['Date', 'performance'].map((object) => ({
  object,
  property: 'now',
  message: 'Ask the scheduler: asyncScheduler.now().',
}));

const zodByName = {
  selector:
    "ImportDeclaration[source.value='zod'] > :matches(ImportSpecifier[imported.name='z'], ImportDefaultSpecifier)",
  message: "import * as z from 'zod': any other form bundles 450 kB of locales.",
};
const bareObservable = {
  selector: "NewExpression[callee.name='Observable'] CallExpression[callee.property.name='subscribe']",
  message:
    'Use createOperator: this form makes a throw in a handler an uncaught exception, and pulls a synchronous source dry after take(1).',
};

export default defineConfig(
  {
    ignores: [
      'dist',
      'coverage',
      'docs',
      'spec/package/consumers',
      'spec/.readme',
      'spec/bench/peers',
      'spec/bench/out',
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
    },
  },
  {
    files: ['lib/**'],
    plugins: { house: { rules: { 'one-way': oneWay } } },
    rules: {
      'house/one-way': 'error',
      'no-console': 'error',
      'max-lines': ['error', { max: 250 }],
      'no-restricted-globals': ['error', { globals: [...timers, ...ofNode], checkGlobalObject: true }],
      'no-restricted-properties': ['error', ...clocks],
    },
  },
  { files: ['lib/{operators,ui,bridges}/**'], rules: { 'no-restricted-syntax': ['error', zodByName, bareObservable] } },
  {
    files: ['lib/testing/server/**'],
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
