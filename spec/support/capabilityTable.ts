import { registeredProviders } from '../../lib/providers/registry/index.js';

const columns = [
  ['tools', 'tools'],
  ['multiToolCalls', 'parallel'],
  ['typedOutput', 'typed output'],
  ['typedOutputWithTools', 'with tools'],
  ['thinking', 'thinking'],
  ['vision', 'images'],
  ['files', 'PDF'],
] as const;

/** Returns the table of the capabilities of each provider's default model. */
function capabilityTable(): string {
  const mark = (known: boolean | undefined) => (known === undefined ? '?' : known ? 'yes' : 'no');
  const rows = registeredProviders().map(({ name, aliases, defaultModel, capabilities }) => [
    [`\`${name}\``, ...aliases.map((alias) => `\`${alias}\``)].join(', '),
    `\`${defaultModel ?? ''}\``,
    ...columns.map(([capability]) => mark(capabilities[capability])),
  ]);
  const header = ['provider', 'default model', ...columns.map(([, title]) => title)];
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Replaces the table between its markers in a guide. */
export function withCapabilityTable(guide: string): string {
  return guide.replace(
    /(<!-- capabilities -->\n)[\s\S]*?(\n<!-- end -->)/,
    (_, begin: string, end: string) => begin + capabilityTable() + end,
  );
}
