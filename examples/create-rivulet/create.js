#!/usr/bin/env node
// npm create rivulet FOLDER: copies the template into a new folder.
import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import process from 'node:process';

const [name] = process.argv.slice(2);

if (name === undefined || name.startsWith('-')) {
  fail('Name a folder: npm create rivulet my-chat');
}

const folder = resolve(name);
await mkdir(folder, { recursive: true });
if ((await readdir(folder)).length > 0) {
  fail(`${folder} is not empty. Name a new folder.`);
}

await cp(join(import.meta.dirname, 'template'), folder, { recursive: true });
await rename(join(folder, 'gitignore'), join(folder, '.gitignore')); // npm packs no .gitignore
const file = join(folder, 'package.json');
const manifest = JSON.parse(await readFile(file, 'utf8'));
const valid = basename(folder)
  .toLowerCase()
  .replace(/[^a-z0-9._-]+/g, '-')
  .replace(/^[._-]+/, '');
await writeFile(file, `${JSON.stringify({ ...manifest, name: valid || 'chat' }, undefined, 2)}\n`);

const shown = relative(process.cwd(), folder) || '.';
process.stdout.write(`Created a chat in ${shown}. Next:\n\n  cd ${shown}\n  npm install\n  npm start\n\n`);

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
