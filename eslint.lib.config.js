import config, { eslintOnly } from './eslint.config.js';

// For `npm run lint`: the rules of eslint.config.js that oxlint does not have, for lib/. `npm run lint:all` checks them
// everywhere, and two more, which take most of the time because they ask for the type of each expression.
const isFast = (name) => eslintOnly.test(name) && !/no-unsafe-(class-instance|enum)-assignment/.test(name);

const keep = (rules) => Object.fromEntries(Object.entries(rules).filter(([name]) => isFast(name)));

export default [
  ...config.map((part) => (part.rules ? { ...part, rules: keep(part.rules) } : part)),
  { files: ['lib/**'], languageOptions: { parserOptions: { projectService: false, project: 'tsconfig.build.json' } } },
  // Some directives are for rules that oxlint checks.
  { linterOptions: { reportUnusedDisableDirectives: 'off' } },
];
