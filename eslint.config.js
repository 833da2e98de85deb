import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import rxjsX from 'eslint-plugin-rxjs-x';
import tseslint from 'typescript-eslint';

const rooms = ['core', 'protocol', 'providers', 'operators', 'orchestrators', 'agent', 'ui', 'bridges', 'testing', 'registry'];

/** Imports go one way: a room may import only the rooms named here (and itself). */
const may = {
  core: [],
  protocol: ['core'],
  providers: ['core', 'protocol'],
  operators: ['core'],
  orchestrators: ['core', 'operators'],
  agent: ['core', 'operators', 'orchestrators'],
  ui: ['core', 'operators', 'agent'],
  bridges: ['core', 'operators', 'agent', 'ui'],
  testing: ['core'],
};

const oneWay = Object.entries(may).map(([room, allowed]) => ({
  files: room === 'agent' ? ['lib/agent.ts'] : [`lib/${room}/**`],
  rules: {
    'no-restricted-imports': ['error', {
      patterns: [
        { group: ['rxjs/*'], message: "Import from 'rxjs': only its public API is used." },
        ...(room === 'testing' ? [] : [{ group: ['node:*'], message: 'No Node built-ins in lib/ outside testing/server.' }]),
        {
          regex: `^(\\.\\./)+(${rooms.filter((other) => other !== room && !allowed.includes(other)).join('|')})(\\.js|/)`,
          message: `Imports go one way: ${room} may import ${allowed.join(', ') || 'nothing of ours'}.`,
        },
      ],
      paths: [{ name: 'zod', allowTypeImports: true, message: 'zod is imported for its types only.' }],
    }],
  },
}));

export default defineConfig(
  { ignores: ['dist', 'coverage', 'docs', 'spec/.readme', 'spec/bench/peers', 'spec/bench/out', '**/*.mjs'] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  rxjsX.configs.strict,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true, allowNullish: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-restricted-syntax': ['error', {
        selector: "ImportDeclaration[source.value='zod'] > ImportSpecifier[imported.name='z']",
        message: "import * as z from 'zod': the named form bundles 450 kB of locales.",
      }],
    },
  },
  {
    files: ['lib/**'],
    rules: {
      'no-console': 'error',
      'no-restricted-globals': ['error', 'process', 'Buffer', 'setTimeout', 'setInterval', 'setImmediate'],
    },
  },
  { files: ['lib/testing/server/**'], rules: { 'no-restricted-globals': ['error', 'setTimeout', 'setInterval', 'setImmediate'] } },
  ...oneWay,
  {
    files: ['spec/**', 'examples/**', 'marbles/**'],
    rules: {
      'rxjs-x/no-ignored-default-value': 'off',
      'rxjs-x/no-ignored-error': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  { files: ['**/*.js'], extends: [tseslint.configs.disableTypeChecked] },
);
