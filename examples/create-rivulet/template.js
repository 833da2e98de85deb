// Before npm packs this package: makes the template of the examples next to it, so that no file is in the repository
// twice. With --remove, after it: removes the template.
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';

const here = import.meta.dirname;
const examples = join(here, '..');
const template = join(here, 'template');
const root = JSON.parse(await readFile(join(examples, '../package.json'), 'utf8'));
const angular = JSON.parse(await readFile(join(examples, 'angular-chat/package.json'), 'utf8'));

/** The files and folders of the template, and where they come from. */
const sources = {
  src: 'angular-chat/src',
  'angular.json': 'angular-chat/angular.json',
  'tsconfig.json': 'angular-chat/tsconfig.json',
  'server/main.ts': 'angular-chat/server/main.ts',
  'server/agent.ts': 'angular-chat/server/agent.ts',
  'server/offline.ts': 'angular-chat/server/offline.ts',
  'server/page.ts': 'angular-chat/server/page.ts',
  'server/tools.ts': 'angular-chat/server/tools.ts',
  'server/serve.ts': 'node-service/serve.ts',
  'server/pageFile.ts': 'page/pageFile.ts',
  'server/conversation.ts': 'terminal/conversation.ts',
};

const manifest = {
  name: 'chat',
  private: true,
  type: 'module',
  scripts: {
    build: 'ng build',
    serve: 'tsx server/main.ts',
    start: 'npm run build && npm run serve',
    types: 'tsc -p server',
    watch: 'ng build --watch --configuration development',
  },
  dependencies: {
    ...angular.dependencies,
    rivulet: `^${root.version}`,
    tsx: root.devDependencies.tsx,
    zod: root.devDependencies.zod,
  },
  devDependencies: { ...angular.devDependencies, '@types/node': root.devDependencies['@types/node'] },
};

const serverConfig = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
    noEmit: true,
    types: ['node'],
  },
};

const readme = `# A chat with Rivulet

An Angular page, and a Node service that has the agent and its key.

    npm install
    npm start                                           http://127.0.0.1:4200
    OPENAI_API_KEY=... npm start
    npm run serve -- ollama:qwen3                       a model by its name; the page is built already

Without a key, a scripted stand-in answers on this machine. \`PORT\` chooses another port.

| file                | what it has                                                     |
| ------------------- | --------------------------------------------------------------- |
| \`server/main.ts\`    | the model and the service                                       |
| \`server/agent.ts\`   | the agent: its instructions                                     |
| \`server/tools.ts\`   | the tools: change these first                                   |
| \`server/offline.ts\` | the stand-in; remove it when you have a key                     |
| \`src/app/chat.ts\`   | what connects the page with the service                         |
| \`src/app/*.ts\`      | the components of the page                                      |
`;

await rm(template, { recursive: true, force: true });
if (process.argv.includes('--remove')) process.exit();
for (const [target, source] of Object.entries(sources)) {
  await mkdir(dirname(join(template, target)), { recursive: true });
  await cp(join(examples, source), join(template, target), { recursive: true });
  if (!target.startsWith('server/')) continue;
  const text = await readFile(join(template, target), 'utf8');
  // All files of the server are in one folder here.
  const own = text.replace(/(from ')(?:\.\.\/)+(?:node-service|terminal|page)\//g, '$1./');
  await writeFile(join(template, target), own.replace(/^\/\/ npm run example:angular.*$/m, '// npm run serve'));
}
await writeFile(join(template, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
await writeFile(join(template, 'server/tsconfig.json'), `${JSON.stringify(serverConfig, undefined, 2)}\n`);
await writeFile(join(template, 'README.md'), readme);
await writeFile(join(template, 'gitignore'), 'node_modules\ndist\nnotes.md\n');
