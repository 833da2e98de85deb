import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { sections } from './sections.ts';

const folder = import.meta.dirname;
const { repository } = JSON.parse(readFileSync(join(folder, '../../package.json'), 'utf8'));
const project = repository.url.replace(/^git\+|\.git$/g, '');

const readSidebar = (path: string) =>
  existsSync(join(folder, '..', path)) ? JSON.parse(readFileSync(join(folder, '..', path), 'utf8')) : [];

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
      '/api/': readSidebar('api/typedoc-sidebar.json'),
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
      const rule = md.renderer.rules.link_open ?? ((tokens, index, options, _, self) => self.renderToken(tokens, index, options));
      md.renderer.rules.link_open = (tokens, index, options, env, self) => {
        const href = tokens[index].attrGet('href') ?? '';
        if (/^\.\.\/(?!\.\.)/.test(href) && !env.relativePath?.includes('/'))
          tokens[index].attrSet('href', href.replace(/^\.\.\//, `${project}/blob/main/`));
        return rule(tokens, index, options, env, self);
      };
    },
  },
});
