import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { defineConfig } from 'vitepress';
import type { DefaultTheme } from 'vitepress';
import { projectPages, siteAddress } from './projectPages.ts';
import { searchOptions } from './searchOptions.ts';
import { projectSections, sections } from './sections.ts';

const folder = import.meta.dirname;
const manifest = readFileSync(join(folder, '../../package.json'), 'utf8');
const { repository } = JSON.parse(manifest) as { readonly repository: { readonly url: string } };
const project = repository.url.replace(/^git\+|\.git$/g, '');

/** The sidebar that typedoc has written beside the API reference. */
const reference = join(folder, '../api/typedoc-sidebar.json');
const apiSidebar = existsSync(reference)
  ? (JSON.parse(readFileSync(reference, 'utf8')) as DefaultTheme.SidebarItem[])
  : [];

/** The file of the repository that a page is made of. */
const fileOfPage = new Map([...projectPages].map(([file, page]) => [page, file]));

/** The anchors of GitHub, so that a link to a heading works in both places. */
const slugify = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

export default defineConfig({
  title: 'Rivulet',
  description: 'LLM responses as RxJS Observables',
  lang: 'en',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/icon.svg' }]],
  cleanUrls: true,
  metaChunk: true,
  srcExclude: ['node_modules/**'],
  ignoreDeadLinks: [/^https?:\/\/localhost/], // addresses of local models in the reference
  vite: { build: { chunkSizeWarningLimit: 5000 } }, // the index of the search
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: { searchOptions },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/first-agent' },
      { text: 'Questions', link: '/questions' },
      { text: 'Diagrams', link: '/diagrams/' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: {
      '/api/': apiSidebar,
      '/': [...sections, ...projectSections].map(({ text, pages }) => ({
        text,
        items: Object.entries(pages).map(([page, title]) => ({ text: title, link: `/${page}` })),
      })),
    },
    socialLinks: [{ icon: 'github', link: project }],
  },
  markdown: {
    anchor: { slugify },
    headers: { slugify },
    config(md) {
      // The links of a document are those of its file in the repository: a link that leaves the site leads there.
      const render = md.renderer.rules.link_open;
      md.renderer.rules.link_open = (tokens, index, options, env: { readonly relativePath?: string }, self) => {
        const link = tokens[index];
        const href = link?.attrGet('href') ?? '';
        const page = env.relativePath ?? '';
        const file = fileOfPage.get(page) ?? `docs/${page}`;
        const isRelative = !/^(?:[a-z]+:|#|\/)/.test(href);
        if (isRelative && (fileOfPage.has(page) || (href.startsWith('../') && !page.includes('/'))))
          link?.attrSet('href', siteAddress(posix.normalize(posix.join(posix.dirname(file), href)), project));
        return render?.(tokens, index, options, env, self) ?? self.renderToken(tokens, index, options);
      };
    },
  },
});
