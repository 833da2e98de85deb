import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const providers = join('lib', 'providers');

/** The files that a file imports for more than types, directly and indirectly. */
function closure(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const source = readFileSync(file, 'utf8').replaceAll(/^(import|export) type [^;]*;/gm, '');
  for (const [, path = ''] of source.matchAll(/^(?:import|export) [^;]*?from '(\.[^']*)\.js';/gm))
    closure(join(dirname(file), `${path}.ts`), seen);
  return seen;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });

/** What all providers may import. */
const shared = ['shared', 'chatCompletions', 'httpModel.ts', 'thinkTags.ts', 'registry'];

/** The wire of a provider that no other provider speaks. */
const wireOf: Readonly<Record<string, string>> = { 'openai.ts': 'openaiResponses' };

const providerEntries = readdirSync(providers).filter(
  (name) =>
    ![...shared, ...Object.values(wireOf)].includes(name) &&
    (name.endsWith('.ts') || readdirSync(join(providers, name)).length > 0),
);
const entryOf = (name: string) => join(providers, name.endsWith('.ts') ? name : join(name, `${name}.ts`));

describe('importing one provider', () => {
  it.each(providerEntries)('importing %s bundles no other provider', (name) => {
    const rooms = [...closure(entryOf(name))]
      .filter((file) => file.startsWith(providers))
      .map((file) => relative(providers, file).split('/')[0] ?? '');
    expect(rooms).toContain(name);
    expect([...new Set(rooms)].filter((room) => ![name, wireOf[name], ...shared].includes(room))).toEqual([]);
  });

  it('no file but those of the command line imports the registry', () => {
    const mayImport = ['providers/registry', 'cli'].map((room) => join('lib', room));
    const outside = filesIn('lib').filter((file) => !mayImport.some((room) => file.startsWith(room)));
    expect(outside.filter((file) => /from '[^']*registry/.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});
