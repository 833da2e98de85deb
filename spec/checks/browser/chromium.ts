import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

const places = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Finds Chromium. On Debian, root installs it. */
function findChromium(): string {
  const find = () => places.find((place) => place !== '' && existsSync(place));
  const found = find();
  if (found) return found;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    const apt = (...args: readonly string[]) =>
      execFileSync('apt-get', ['-qq', ...args], {
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    apt('update');
    apt('install', '-y', '--no-install-recommends', 'chromium');
  }
  const installed = find();
  if (installed) return installed;
  throw new Error('There is no Chromium. Install it, or set CHROMIUM to the path of the program.');
}

/** Starts Chromium without a window. The flags keep it from asking the network for anything of its own. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findChromium(),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
