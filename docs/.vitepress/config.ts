import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import type { DefaultTheme } from 'vitepress';
import { sections } from './sections.ts';

const folder = import.meta.dirname;
const manifest = readFileSync(join(folder, '../../package.json'), 'utf8');
const { repository } = JSON.parse(manifest) as { readonly repository: { readonly url: string } };
const project = repository.url.replace(/^git\+|\.git$/g, '');

/** The sidebar that typedoc has written beside the API reference. */
const reference = join(folder, '../api/typedoc-sidebar.json');
const apiSidebar = existsSync(reference)
  ? (JSON.parse(readFileSync(reference, 'utf8')) as DefaultTheme.SidebarItem[])
  : [];

export default defineConfig({
  title: 'Rivulet',
  description: 'LLM responses as RxJS Observables',
  lang: 'en',
  cleanUrls: true,
  srcExclude: ['node_modules/**'],
  ignoreDeadLinks: [/^https?:\/\/localhost/], // addresses of local models in the reference
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/first-agent' },
      { text: 'Questions', link: '/questions' },
      { text: 'Diagrams', link: '/diagrams/' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: {
      '/api/': apiSidebar,
      '/': sections.map(({ text, pages }) => ({
        text,
        items: Object.entries(pages).map(([page, title]) => ({ text: title, link: `/${page}` })),
      })),
    },
    socialLinks: [{ icon: 'github', link: project }],
  },
  markdown: {
    config(md) {
      // A link that leaves the guides leads to the repository.
      const render = md.renderer.rules.link_open;
      md.renderer.rules.link_open = (tokens, index, options, env: { readonly relativePath?: string }, self) => {
        const link = tokens[index];
        const href = link.attrGet('href') ?? '';
        const isGuide = !env.relativePath?.includes('/');
        if (isGuide && href.startsWith('../')) link.attrSet('href', href.replace('../', `${project}/blob/main/`));
        return render?.(tokens, index, options, env, self) ?? self.renderToken(tokens, index, options);
      };
    },
  },
});
