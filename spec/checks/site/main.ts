// npm run site: builds the site from docs/, the API reference from the doc comments, and the gallery of the diagrams.
// The result is in docs/.vitepress/dist. It fails for a dead link, and for a guide that is not in the sidebar.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sections } from '../../../docs/.vitepress/sections.js';

const root = join(import.meta.dirname, '../../..');
const docs = join(root, 'docs');
const run = (program: string, ...args: readonly string[]) =>
  execFileSync(program, [...args], { cwd: docs, stdio: ['ignore', 'inherit', 'inherit'] });

requireAllInSidebar();
run('npm', 'ci', '--no-audit', '--no-fund', '--loglevel', 'error');
writeReference();
writeGallery();
run('npx', 'vitepress', 'build');

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

/** Writes a page for each public name of each entry point, in docs/api. */
function writeReference(): void {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly string[]>> };
  };
  const entries = Object.values(compilerOptions.paths).map(([file = '']) => join(root, file));
  rmSync(join(docs, 'api'), { recursive: true, force: true });
  run(
    'npx',
    'typedoc',
    ...['--plugin', 'typedoc-plugin-markdown', '--plugin', 'typedoc-vitepress-theme'],
    ...['--docsRoot', '.', '--out', 'api', '--tsconfig', '../tsconfig.json', '--basePath', root],
    ...['--readme', 'none', '--skipErrorChecking', '--logLevel', 'Error', '--disableSources'],
    ...entries.flatMap((entry) => ['--entryPoints', entry]),
  );
}

/** Writes the page with all diagrams, in docs/diagrams. */
function writeGallery(): void {
  const folder = join(docs, 'diagrams');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const names = readdirSync(join(root, 'marbles')).flatMap((name) => /^(.*)\.svg$/.exec(name)?.[1] ?? []);
  for (const name of names) cpSync(join(root, 'marbles', `${name}.svg`), join(folder, `${name}.svg`));
  const entries = names.map((name) => {
    const [first = ''] = readFileSync(join(root, 'marbles', `${name}.txt`), 'utf8').split('\n');
    return `## ${name}\n\n${first.replace(/^%\s*/, '')}\n\n![${name}](./${name}.svg)\n`;
  });
  const intro = 'Each diagram is drawn from a text, and the same text runs as a spec.';
  writeFileSync(join(folder, 'index.md'), `# Diagrams\n\n${intro}\n\n${entries.join('\n')}`);
}
