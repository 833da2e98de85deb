/** The documents outside of docs/ that are pages of the site: the file, and the page that `npm run site` writes. */
export const projectPages: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'README.md': 'project/introduction.md',
    'ARCHITECTURE.md': 'project/architecture.md',
    'CHANGELOG.md': 'project/changelog.md',
    'CONTRIBUTING.md': 'project/contributing.md',
    'SECURITY.md': 'project/security.md',
    'examples/angular-chat/README.md': 'project/angular-chat.md',
    'examples/durable-service/README.md': 'project/durable-service.md',
    'examples/nest-service/README.md': 'project/nest-service.md',
    'examples/node-service/README.md': 'project/node-service.md',
    'examples/page/README.md': 'project/page.md',
    'examples/research/README.md': 'project/research.md',
    'examples/terminal/README.md': 'project/terminal.md',
    'spec/checks/bench/README.md': 'project/benchmark.md',
  }),
);

/**
 * Returns the address of a link to a file of the repository: a page of the site if the file is one, else the file at the
 * repository.
 */
export function siteAddress(file: string, repository: string): string {
  const anchor = /#.*$/.exec(file)?.[0] ?? '';
  const path = file.slice(0, file.length - anchor.length);
  const guide = /^docs\/([^/]+\.md)$/.exec(path)?.[1];
  const page = guide ?? projectPages.get(path);
  return page === undefined ? `${repository}/blob/main/${path}${anchor}` : `/${page}${anchor}`;
}
