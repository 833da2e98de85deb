// npm run picture: holds the built-in run of npm start, draws it, and writes docs/public/run.png, the picture of the README.
// It needs Chromium, which root installs on Debian.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aptInstall } from '../../support/aptInstall.js';

const root = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'rivulet-picture-'));
const page = join(folder, 'run.html');
const run = (program: string, ...args: readonly string[]) =>
  execFileSync(program, [...args], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });

aptInstall('chromium');
run('npm', 'start', '--', '--draw', page);
run(
  'chromium',
  ...['--headless', '--no-sandbox', '--hide-scrollbars', '--force-device-scale-factor=1.5', '--window-size=1000,800'],
  `--screenshot=${join(root, 'docs/public/run.png')}`,
  `file://${page}`,
);
rmSync(folder, { recursive: true });
