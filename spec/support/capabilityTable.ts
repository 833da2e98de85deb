import { registeredProviders } from '../../lib/registry/index.js';

const columns = [
  ['tools', 'tools'],
  ['multiToolCalls', 'parallel'],
  ['typedOutput', 'typed output'],
  ['typedOutputWithTools', 'with tools'],
  ['thinking', 'thinking'],
  ['vision', 'images'],
  ['files', 'PDF'],
] as const;

/** The README's table of what each provider can do, from the capability data of its default model. */
export function capabilityTable(): string {
  const mark = (known: boolean | undefined) => (known === undefined ? '?' : known ? 'yes' : 'no');
  const rows = registeredProviders().map(({ name, aliases, defaultModel, capabilities }) => [
    [`\`${name}\``, ...aliases.map((alias) => `\`${alias}\``)].join(', '),
    `\`${defaultModel ?? ''}\``,
    ...columns.map(([capability]) => mark(capabilities[capability])),
  ]);
  const header = ['provider', 'default model', ...columns.map(([, title]) => title)];
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The README with a fresh table between its marks. */
export function withCapabilityTable(readme: string): string {
  return readme.replace(
    /(<!-- capabilities -->\n)[\s\S]*?(\n<!-- end -->)/,
    (_, begin: string, end: string) => begin + capabilityTable() + end,
  );
}
