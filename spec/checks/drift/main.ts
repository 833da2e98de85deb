import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compare } from './compare.js';
import type { DriftWire } from './compare.js';
import { deprecatedModels, readDeprecatedModels } from './deprecated.js';
import { literalsOfTypes, namesInFiles } from './literals.js';
import { agUi } from './wires/agUi.js';
import { aiSdkUi } from './wires/aiSdkUi.js';
import { anthropic } from './wires/anthropic.js';
import { chatCompletions } from './wires/chatCompletions.js';
import { cohere } from './wires/cohere.js';
import { google } from './wires/google.js';
import { googleInteractions } from './wires/googleInteractions.js';
import { mistral } from './wires/mistral.js';
import { ollama } from './wires/ollama.js';
import { openaiResponses } from './wires/openaiResponses.js';

// npm run drift [-- --update]: what the vendors' SDKs have and the wires do not. Exits with 1 if anything is unexplained.
// With --update, it first installs the newest SDKs and records their versions in spec/checks/drift/package.json.

const wires: readonly DriftWire[] = [
  ...[openaiResponses, chatCompletions, anthropic, google, googleInteractions, mistral, cohere, ollama],
  ...[agUi, aiSdkUi],
];

const folder = import.meta.dirname;
const lib = join(folder, '../../../lib');
const { values } = parseArgs({ options: { update: { type: 'boolean', default: false } } });
const print = (line: string) => process.stdout.write(`${line}\n`);
const npm = (...args: readonly string[]) =>
  execFileSync('npm', [...args, '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
/** Some SDKs rename the fields of the API: `toolCallId` is `tool_call_id`. */
const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };

const sdks = [...new Set(wires.map(({ sdk }) => sdk))];
if (values.update) npm('install', '--save-exact', ...sdks.map((sdk) => `${sdk}@latest`));
else if (!existsSync(join(folder, 'node_modules'))) npm('ci');

let problems = 0;
const report = (heading: string, names: readonly string[]) => {
  if (names.length === 0) return;
  problems += names.length;
  print(`  ${heading}: ${names.join(', ')}`);
};

for (const { name, sdk, files, unions } of wires) {
  const { version } = readJson(join(folder, 'node_modules', sdk, 'package.json'));
  const names = namesInFiles(files.map((file) => join(lib, file)));
  const literals = literalsOfTypes(
    folder,
    unions.map(({ type }) => type),
  );
  const count = literals.reduce((sum, { length }) => sum + length, 0);
  print(`${name}: ${count} values of ${unions.length} types in ${sdk} ${version}`);
  const isNamed = (value: string) => names.has(value) || names.has(snakeCase(value));
  unions.forEach(({ what, isKnown, leftOut }, at) => {
    const isReadOrNamed = (value: string) => isNamed(value) || isKnown?.(value) === true;
    const { unexplained, stale } = compare(literals[at] ?? [], isReadOrNamed, leftOut);
    report(`new ${what}`, unexplained);
    report(`${what} that need not be left out`, stale);
  });
}

const deprecated = readDeprecatedModels(join(folder, 'node_modules'));
report(
  'new deprecated models',
  deprecated.filter((model) => !deprecatedModels.includes(model)),
);
print(
  problems === 0 ? 'Nothing is unexplained.' : `${problems} unexplained. Implement them, or list them with a reason.`,
);
process.exitCode = problems === 0 ? 0 : 1;
