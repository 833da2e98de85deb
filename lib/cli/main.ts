#!/usr/bin/env node
import { readFile, writeFile } from 'node:fs/promises';
import { fromEvent } from 'rxjs';
import { runCommand } from './runCommand.js';
import { TERMINATED } from './shell.js';

const { argv, stdin, stdout, stderr, env } = process;

// The reader of the output may leave early, as `head` does.
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
stderr.on('error', () => undefined); // notes that nobody can read do not end an answer

const canColor = env['TERM'] !== 'dumb' && !env['NO_COLOR'];

void runCommand(argv.slice(2), {
  readFile: (path) => readFile(path, 'utf8'),
  writeFile: (path, text, { isNew = false, isPrivate = false } = {}) =>
    writeFile(path, text, { flag: isNew ? 'wx' : 'w', mode: isPrivate ? 0o600 : 0o666 }),
  write: (text) => void stdout.write(text),
  writeError: (text) => void stderr.write(text),
  hasColors: stdout.isTTY && canColor,
  hasErrorColors: stderr.isTTY && canColor,
  interrupts: fromEvent(process, 'SIGINT'),
  terminations: fromEvent(process, 'SIGTERM'),
  stdin,
  stdout,
  env,
}).then((code) => {
  if (code === TERMINATED) process.exit(code); // also while a tool goes on
  process.exitCode = code;
});
