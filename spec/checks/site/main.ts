// npm run site: builds the site from docs/, the API reference from the doc comments, and the gallery of the diagrams.
// The result is in docs/.vitepress/dist. It fails for a dead link, for a guide that is not in the sidebar, and for a query
// of searchQueries.ts whose answer is not among the first results of the search.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectPages } from '../../../docs/.vitepress/projectPages.js';
import { searchOptions } from '../../../docs/.vitepress/searchOptions.js';
import { sections } from '../../../docs/.vitepress/sections.js';
import { deadLinks } from './deadLinks.js';
import { loadSearch, unanswered } from './search.js';

const root = join(import.meta.dirname, '../../..');
const docs = join(root, 'docs');
const run = (program: string, ...args: readonly string[]) =>
  execFileSync(program, [...args], { cwd: docs, stdio: ['ignore', 'inherit', 'inherit'] });

requireAllInSidebar();
run('npm', 'ci', '--no-audit', '--no-fund', '--loglevel', 'error');
writeReference();
writeGallery();
writeProject();
run('npx', 'vitepress', 'build');

const problems = [...deadLinks(join(docs, '.vitepress/dist')), ...unanswered(await loadSearch(docs, searchOptions))];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

/** Fails for a guide without a place in the sidebar, and for a place without a guide. */
function requireAllInSidebar(): void {
  const files = readdirSync(docs).flatMap((name) => /^(?!index\.)(.*)\.md$/.exec(name)?.[1] ?? []);
  const listed = sections.flatMap(({ pages }) => Object.keys(pages));
  const wrong = [
    ...files.filter((name) => !listed.includes(name)).map((name) => `docs/${name}.md is not in the sidebar`),
    ...listed.filter((name) => !files.includes(name)).map((name) => `docs/${name}.md does not exist`),
  ];
  if (wrong.length > 0) throw new Error(`${wrong.join('; ')}. The sidebar is docs/.vitepress/sections.ts.`);
}

/** Empties a folder of docs/, or creates it. */
function newFolder(name: string): string {
  const folder = join(docs, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}

/** Writes a page for each public name of each entry point, in docs/api. */
function writeReference(): void {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly string[]>> };
  };
  const entries = Object.values(compilerOptions.paths).map(([file = '']) => join(root, file));
  newFolder('api');
  run(
    'npx',
    'typedoc',
    ...['--plugin', 'typedoc-plugin-markdown', '--plugin', 'typedoc-vitepress-theme'],
    ...['--plugin', './.vitepress/typedoc.js', '--name', 'API reference'],
    ...['--docsRoot', '.', '--out', 'api', '--tsconfig', '../tsconfig.json', '--basePath', root],
    ...['--readme', 'none', '--skipErrorChecking', '--logLevel', 'Error', '--disableSources'],
    ...entries.flatMap((entry) => ['--entryPoints', entry]),
  );
}

/** Writes the page with all diagrams, in docs/diagrams. */
function writeGallery(): void {
  const folder = newFolder('diagrams');
  const names = readdirSync(join(root, 'marbles')).flatMap((name) => /^(.*)\.svg$/.exec(name)?.[1] ?? []);
  for (const name of names) cpSync(join(root, 'marbles', `${name}.svg`), join(folder, `${name}.svg`));
  const functions = readdirSync(join(docs, 'api'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.includes('functions/'))
    .sort((a, b) => a.length - b.length); // the functions of `rivulet` before those of its other entries
  const entries = names.map((name) => {
    const [subject = name] = name.split('.');
    const page = functions.find((file) => file.endsWith(`/${subject}.md`));
    const heading = page ? `## ${name}\n\n[API of ${subject}](/api/${page})` : `## ${name}`;
    return `${heading}\n\n${description(name)}\n\n![${name}](./${name}.svg)\n`;
  });
  const intro =
    'Each diagram is drawn from a text, and the same text runs as a spec: [Write and test an operator](/write-an-operator.md) shows how.';
  writeFileSync(join(folder, 'index.md'), `# Diagrams\n\n${intro}\n\n${entries.join('\n')}`);
}

/** A diagram begins with its description, in comments. */
function description(name: string): string {
  const lines = readFileSync(join(root, 'marbles', `${name}.txt`), 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('% '));
  const text = lines.slice(0, end).map((line) => line.slice(2));
  return text.join(' ');
}

/** Copies the documents of the project, and of its examples, to docs/project. Their pictures are those of the site. */
function writeProject(): void {
  newFolder('project');
  for (const [file, page] of projectPages)
    writeFileSync(join(docs, page), readFileSync(join(root, file), 'utf8').replaceAll('](docs/public/', '](/'));
}
