import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as rxjs from 'rxjs';
import { inlineCodeOf } from '../support/inlineCode.js';

// A name that a guide writes as code exists, so that a renamed option or field leaves no stale line in a guide.
// `guideOptions.slow.spec.ts` checks to which function an option belongs.

/** Names of the platform and of other packages, and of functions that a guide's reader writes. */
const foreign = [
  ...[
    'discoveryState',
    'finishAuth',
    'innerHTML',
    'localStorage',
    'postMessage',
    'req',
    'requestInit',
    'saveDiscoveryState',
    'uncaughtException',
  ],
  ...['beforeApplicationShutdown', 'bodyLimit', 'onApplicationShutdown', 'preClose', 'preStop'],
  'terminationGracePeriodSeconds', // Kubernetes
  ...['fromPlatform', 'providedIn', 'requireSync', 'rxResource', 'toSignal', 'useChat'],
  ...['generateContent', 'modalities', 'num_ctx', 'topK'],
  ...['maskEmails', 'pool', 'researcher', 'similarity', 'sqliteStore'],
  'aiSdk', // a folder
];

/** The names that the library declares, and the words of its string types. */
const declaredIn = (file: string) => {
  const code = readFileSync(file, 'utf8').replace(/^\s*(?:\/\*\*[^]*?\*\/|\/\/.*)$/gm, '');
  const names = /\b(?:readonly )?([A-Za-z]\w*)\??(?=\s*[:(<])|\b(?:function|const|class|interface|type) (\w+)|'(\w+)'/g;
  return [...code.matchAll(names)].map(([, field, name, word]) => field ?? name ?? word ?? '');
};
const sources = readdirSync('lib', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const known = new Set([...sources.flatMap((name) => declaredIn(join('lib', name))), ...Object.keys(rxjs), ...foreign]);

/** The names in a piece of code: options and arguments, functions that are called, and a name in camel case alone. */
const namesIn = (code: string) =>
  [
    ...code
      .replace(/'[^']*'|"[^"]*"/g, "''")
      .matchAll(/(?<![\w.$/-])([a-z]\w*)(?=:(?!\/)|, | \}|\()|^([a-z]+[A-Z]\w*)$/g),
  ].map(([, name, alone]) => name ?? alone ?? '');

const unknownNames = (document: string) =>
  inlineCodeOf(document)
    .filter((code) => !code.startsWith('np')) // npm and npx
    .flatMap((code) => namesIn(code).flatMap((name) => (known.has(name) ? [] : [`${name}: ${code}`])));

describe('the names in the guides', () => {
  const guides = readdirSync('docs').filter((name) => name.endsWith('.md') && !name.startsWith('migrate-'));

  it.each(['README.md', ...guides.map((name) => join('docs', name))])('%s has only names that exist', (document) => {
    expect(unknownNames(document)).toEqual([]);
  });
});
